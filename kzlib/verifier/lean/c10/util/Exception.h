#pragma once
#include "../../kz/check.h"
#include "../../kz/half.h"
