// The command `drom`: one verb per file in cli/.
#include "app/cli/common.hpp"

int main(int argc, char** argv) { return drom::cli::run_program(argc, argv); }
