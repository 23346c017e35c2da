#pragma once
#include "../kz/dispatch.h"
