#pragma once
#include "../kz/dispatch.h"
#include "../kz/ops.h"
