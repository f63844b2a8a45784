/* SPDX-License-Identifier: MIT */
/* A libcuda of CUDA 13.3 for older drivers, with nothing in it but its note. */
#define OWNER "NVIDIA Corporation"
#define TEXT                                                                                       \
    "{\"Format\": 1, \"CUDA Version\": \"13.3\", \"Driver\": [575, 580], \"Device\": [2, 14]}"

struct note {
    unsigned owner_size, text_size, type;
    char owner[20];
    char text[sizeof TEXT];
};

__attribute__((section(".note.cuda.fwd_compatibility"), used,
               aligned(4))) static const struct note gpuctr_test_note = {
    sizeof OWNER, sizeof TEXT - 1, 1, OWNER, TEXT};
