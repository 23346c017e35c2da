// Standard headers that Torch's own headers bring along. The builder looks which names the source uses and defines
// one KZ_STD_* for each; without a builder everything is included.
#pragma once
#ifndef KZ_STD_CHOSEN
#define KZ_STD_VECTOR
#define KZ_STD_STRING
#define KZ_STD_OPTIONAL
#define KZ_STD_TUPLE
#define KZ_STD_STREAM
#define KZ_STD_ALGORITHM
#define KZ_STD_FUNCTIONAL
#define KZ_STD_CONTAINER
#define KZ_HALF_TYPES
#endif
#ifdef KZ_STD_VECTOR
#include <vector>
#endif
#ifdef KZ_STD_STRING
#include <stdexcept>
#include <string>
#endif
#ifdef KZ_STD_OPTIONAL
#include <optional>
#endif
#ifdef KZ_STD_TUPLE
#include <array>
#include <tuple>
#endif
#ifdef KZ_STD_STREAM
#include <iostream>
#include <sstream>
#endif
#ifdef KZ_STD_ALGORITHM
#include <algorithm>
#include <numeric>
#endif
#ifdef KZ_STD_FUNCTIONAL
#include <functional>
#include <memory>
#endif
#ifdef KZ_STD_CONTAINER
#include <map>
#include <mutex>
#include <unordered_map>
#endif
