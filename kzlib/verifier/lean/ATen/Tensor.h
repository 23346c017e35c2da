#pragma once
#include "../kz/ops.h"
