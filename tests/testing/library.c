/* A decision component as a library that says hello in JSON, then answers each message with the same reply: it never
 * decides. Started with the initialization data "crash", it crashes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static char hello[] =
    "{\"now\": 0, \"events\": [{\"timestamp\": 0, \"event_type\": \"EDCHelloEvent\", \"event\": {"
    "\"batprotocol_version\": \"0.1.0\", \"decision_component_name\": \"library\","
    "\"decision_component_version\": \"1\", \"decision_component_commit\": \"\","
    "\"requested_simulation_features\": {}}}]}";
static char reply[] = "{\"now\": 0, \"events\": []}";
static int crashes;

uint8_t batsim_edc_init(const uint8_t *data, uint32_t size, uint32_t *flags, uint8_t **answer, uint32_t *answer_size) {
    crashes = size == 5 && memcmp(data, "crash", 5) == 0;
    *flags = 2;
    *answer = (uint8_t *)hello;
    *answer_size = sizeof hello;
    return 0;
}

uint8_t batsim_edc_take_decisions(const uint8_t *data, uint32_t size, uint8_t **answer, uint32_t *answer_size) {
    if (crashes) abort();
    *answer = (uint8_t *)reply;
    *answer_size = sizeof reply;
    return 0;
}

uint8_t batsim_edc_deinit(void) { return 0; }
