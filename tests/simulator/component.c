/* A decision component as a library: it speaks JSON, executes each job on host 0 and rejects those that are too large.
   Initialization data "fail" make it fail at once, "late" at its first decision, "junk" answer what is no message, "large" too much. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *reply;
static char mode[8];

static void say(const char *text, uint8_t **data, uint32_t *size) {
    free(reply);
    reply = strdup(text);
    *data = (uint8_t *)reply;
    *size = (uint32_t)strlen(reply); /* the NUL is there, not counted */
}

uint8_t batsim_edc_init(const uint8_t *init, uint32_t init_size, uint32_t *flags, uint8_t **data, uint32_t *size) {
    snprintf(mode, sizeof mode, "%.*s", (int)(init_size < 7 ? init_size : 7), (const char *)init);
    *flags = 2;
    say("{\"now\": 0, \"events\": [{\"timestamp\": 0, \"event_type\": \"EDCHelloEvent\", \"event\": {"
        "\"batprotocol_version\": \"0.1.0\", \"decision_component_name\": \"c\", \"decision_component_version\": \"1\", "
        "\"decision_component_commit\": \"\", \"requested_simulation_features\": {}}}]}", data, size);
    return strcmp(mode, "fail") == 0 ? 7 : 0;
}

uint8_t batsim_edc_take_decisions(const uint8_t *given, uint32_t given_size, uint8_t **data, uint32_t *size) {
    const char *message = (const char *)given;
    const char *now = strstr(message, "\"now\":");
    size_t room = 4 * (size_t)given_size + 200;
    char *text = malloc(room);
    int length;
    if (strcmp(mode, "late") == 0) {
        free(text);
        return 9;
    }
    length = snprintf(text, room, "{\"now\": %.17g, \"events\": [", strtod(now + 6, NULL));
    for (const char *at = message; (at = strstr(at, "\"JobSubmittedEvent\"")) != NULL; at++) {
        const char *id = strchr(strstr(at, "\"job_id\":") + 9, '"') + 1;
        int id_length = (int)(strchr(id, '"') - id);
        long hosts = strtol(strstr(at, "\"resource_request\":") + 19, NULL, 10);
        const char *before = text[length - 1] == '[' ? "" : ", ";
        if (hosts == 1)
            length += snprintf(text + length, room - (size_t)length,
                               "%s{\"timestamp\": %.17g, \"event_type\": \"ExecuteJobEvent\", \"event\": {\"job_id\": "
                               "\"%.*s\", \"allocation\": {\"host_allocation\": \"0\", \"executor_placement_type\": "
                               "\"PredefinedExecutorPlacementStrategyWrapper\", \"executor_placement\": {}}}}",
                               before, strtod(now + 6, NULL), id_length, id);
        else
            length += snprintf(text + length, room - (size_t)length,
                               "%s{\"timestamp\": %.17g, \"event_type\": \"RejectJobEvent\", \"event\": {\"job_id\": "
                               "\"%.*s\"}}",
                               before, strtod(now + 6, NULL), id_length, id);
    }
    snprintf(text + length, room - (size_t)length, "]}");
    say(strcmp(mode, "junk") == 0 ? "junk" : text, data, size);
    free(text);
    if (strcmp(mode, "large") == 0)
        *size = UINT32_MAX;
    return 0;
}

uint8_t batsim_edc_deinit(void) {
    const char *trace = getenv("COMPONENT_TRACE");
    FILE *file = trace ? fopen(trace, "a") : NULL;
    if (file) {
        fputs("deinit\n", file);
        fclose(file);
    }
    free(reply);
    reply = NULL;
    return 0;
}
