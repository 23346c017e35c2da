#pragma once
#include "../kz/binding.h"
