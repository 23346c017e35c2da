#pragma once
#include "../../kz/check.h"
