#pragma once
#include "../../kz/tensor.h"
