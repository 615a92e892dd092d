// SPDX-License-Identifier: MIT
#pragma once

// The version of the tool. One place; CMake reads it from here.
#define STALLPROF_VERSION "0.1.0"
