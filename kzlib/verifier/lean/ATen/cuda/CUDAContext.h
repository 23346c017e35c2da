#pragma once
#include "../../kz/stream.h"
#include "../../kz/dispatch.h"
