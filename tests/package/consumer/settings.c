/* SPDX-License-Identifier: MIT */
#include <gpucontainer/gpucontainer.h>

#include <stdio.h>

/* Prints the settings of a configuration file. */
int main(int argc, char** argv)
{
    gpuctr_config* config = NULL;
    gpuctr_error* error = NULL;
    if (argc != 2)
        return 2;
    if (gpuctr_config_open(argv[1], &config, &error) != GPUCTR_OK) {
        fprintf(stderr, "%s\n", gpuctr_error_message(error));
        gpuctr_error_free(error);
        return 1;
    }
    for (size_t i = 0; i < gpuctr_config_setting_count(config); i++) {
        const gpuctr_setting* setting = gpuctr_config_setting_at(config, i);
        printf("%s %s\n", gpuctr_setting_key(setting), gpuctr_setting_value(setting));
    }
    gpuctr_config_free(config);
    return 0;
}
