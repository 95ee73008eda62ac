"""Validates JSON values against published schemas: of the topics, of the tools.

Usage: validate_schemas.py SCHEMA_FOLDER
  checks every schema and each of its examples.
Usage: validate_schemas.py SCHEMA_FOLDER NAME < values
  checks one JSON value per line of standard input against NAME.schema.json.

Exit code 0 when all is valid; each fault is one line on standard output otherwise.
"""

import json
import pathlib
import sys

import jsonschema


def main() -> int:
    folder = pathlib.Path(sys.argv[1])
    schemas = {path.name: json.loads(path.read_text()) for path in folder.glob("*.schema.json")}
    validators = {name: validator(schema, schemas) for name, schema in schemas.items()}
    if len(sys.argv) > 2:
        values = [("line %d" % n, json.loads(line)) for n, line in enumerate(sys.stdin, 1)]
        checks = [(validators[sys.argv[2] + ".schema.json"], values)]
    else:
        checks = [(validators[name], examples(name, schema)) for name, schema in schemas.items()]
    faults = [
        f"{where}: {error.json_path}: {error.message[:300]}"
        for check, values in checks
        for where, value in values
        for error in check.iter_errors(value)
    ]
    print("\n".join(faults) or f"{sum(len(values) for _, values in checks)} valid")
    return 1 if faults else 0


def validator(schema, schemas):
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema, resolver=jsonschema.RefResolver("", schema, store=schemas))


def examples(name, schema):
    return [(f"{name} example {n}", value) for n, value in enumerate(schema["examples"], 1)]


if __name__ == "__main__":
    sys.exit(main())
