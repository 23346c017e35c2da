#pragma once
#include "../../kz/stream.h"
