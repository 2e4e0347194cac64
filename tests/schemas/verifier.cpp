// The C++ library's verifier for any schema: `verifier SCHEMA.bfbs < messages`, each behind its size of four bytes.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

#include "flatbuffers/reflection.h"

int main(int, char **arguments) {
  std::ifstream file(arguments[1], std::ios::binary);
  std::vector<uint8_t> text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const reflection::Schema *schema = reflection::GetSchema(text.data());
  uint32_t size;
  while (std::fread(&size, sizeof size, 1, stdin) == 1) {
    std::vector<uint8_t> data(size);  // aligned, as memory is
    if (size && std::fread(data.data(), 1, size, stdin) != size) return 1;
    bool good = size >= 4 && flatbuffers::Verify(*schema, *schema->root_table(), data.data(), data.size());
    std::putchar(good ? '1' : '0');
  }
}
