#pragma once
#include "../../kz/half.h"
