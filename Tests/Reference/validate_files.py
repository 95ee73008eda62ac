"""Validates files, each a JSON document, against one of the schemas in schemas/.

Usage: validate_files.py SCHEMAS_FOLDER NAME [FILE ...]
  checks NAME.schema.json, its examples and the files.

Exit code 0 when all is valid; each fault is one line on standard output otherwise.
"""

import json
import pathlib
import sys

import jsonschema


def main() -> int:
    folder, name, *files = sys.argv[1:]
    paths = pathlib.Path(folder).rglob("*.schema.json")
    schemas = {path.name: json.loads(path.read_text()) for path in paths}
    schema = schemas[name + ".schema.json"]
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    validator = kind(schema, resolver=jsonschema.RefResolver("", schema, store=schemas))
    values = [(f"example {n}", value) for n, value in enumerate(schema["examples"], 1)]
    values += [(file, json.loads(pathlib.Path(file).read_text())) for file in files]
    faults = [
        f"{where}: {error.json_path}: {error.message[:300]}"
        for where, value in values
        for error in validator.iter_errors(value)
    ]
    print("\n".join(faults) or f"{len(values)} valid")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
