"""FaST: a scheduler, agents, migration frameworks and applications, which talk in YAML over MQTT.

The rooms, from the ground up: `values` (the messages), `topics`, `messages` (the table of what travels where).
"""
