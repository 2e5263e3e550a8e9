/* Trains a little, then prints the kernels' instruction set and the weights, one per line. instruction_sets_test.py
 * runs this program on several processors and compares the output. */
#include <stdio.h>
#include <stdlib.h>

#include "test_run.h"

static const RunKind kKind = {"bf16 beside masters", HTONE_BF16, HTONE_MASTER_FULL, HTONE_F32, HTONE_F32, kRunAdamw};

static int print_parameter(htone_module* model, size_t index) {
  htone_parameter* parameter = NULL;
  htone_tensor* values = NULL;
  int64_t count = 0;
  float numbers[2048];
  htone_status status = htone_module_parameter(model, index, &parameter);
  if (status == HTONE_OK) status = htone_parameter_read(parameter, HTONE_F32, &values);
  if (status == HTONE_OK) status = htone_tensor_numel(values, &count);
  if (status == HTONE_OK) status = htone_tensor_read(values, HTONE_F32, numbers, sizeof numbers);
  for (int64_t i = 0; i < count && status == HTONE_OK; ++i) printf("%.9g\n", (double)numbers[i]);
  htone_tensor_release(values);
  htone_parameter_release(parameter);
  return status == HTONE_OK;
}

int main(void) {
  char text[256];
  size_t length = 0;
  Run run;
  if (htone_build_info(text, sizeof text, &length) != HTONE_OK) return 1;
  printf("%s\n", text);
  if (begin_run(&run, &kKind, NULL) != HTONE_OK) return 2;
  for (int i = 0; i < 10; ++i) {
    if (train_step(&run) != HTONE_OK) return 3;
  }
  for (size_t i = 0; i < kRunParameters; ++i) {
    if (!print_parameter(run.model, i)) return 4;
  }
  end_run(&run);
  return 0;
}
