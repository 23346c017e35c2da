#pragma once
#include "../kz/binding.h"
#include "../kz/dispatch.h"
