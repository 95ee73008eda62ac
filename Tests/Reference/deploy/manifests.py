"""Reads a file of Compose or an overlay of kustomize, and checks it by the published schemas.

    manifests.py compose FILE
    manifests.py kubernetes FOLDER

Prints one JSON object: `findings`, what is wrong, and `objects`, the parsed documents. Run by the Python
of .build/python, which has the packages of requirements.txt.
"""

import importlib.resources
import json
import pathlib
import subprocess
import sys

import jsonschema
import yaml

# The oldest and the newest release of Kubernetes that the resources are written for.
KUBERNETES_VERSIONS = ["1.31", "1.37"]


def compose(path):
    """A file of Compose, by the schema of its specification."""
    document = yaml.safe_load(pathlib.Path(path).read_text())
    schemas = importlib.resources.files("check_jsonschema") / "builtin_schemas" / "vendor"
    schema = json.loads((schemas / "compose-spec.json").read_text())
    validator = jsonschema.validators.validator_for(schema)(schema)
    findings = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(document)]
    return findings, [document]


def kubernetes(folder):
    """What kustomize makes of an overlay, each resource by its own schema."""
    kubectl = pathlib.Path(sys.executable).parent / "kubectl"
    rendered = subprocess.run(
        [kubectl, "kustomize", folder], capture_output=True, text=True, timeout=60, check=False
    )
    if rendered.returncode != 0:
        return [rendered.stderr.strip()], []
    objects = [document for document in yaml.safe_load_all(rendered.stdout) if document]
    findings = []
    for document in objects:
        name = f"{document['kind']} {document['metadata']['name']}"
        is_keda = document["apiVersion"].startswith("keda.sh/")
        found = keda(document) if is_keda else own(document)
        findings += [f"{name}: {finding}" for finding in found]
    return findings, objects


def own(document):
    """A resource of Kubernetes itself: no unknown member, in the oldest and the newest release."""
    import kubernetes_validate

    for version in KUBERNETES_VERSIONS:
        try:
            kubernetes_validate.validate(document, version, strict=True)
        except (
            kubernetes_validate.ValidationError,
            kubernetes_validate.SchemaNotFoundError,
            kubernetes_validate.InvalidSchemaError,
        ) as error:
            yield f"{version}: {getattr(error, 'message', None) or error}"


def keda(document):
    """A resource of KEDA: the models ignore unknown members, so that what they kept is compared."""
    import pydantic
    from cloudcoil.models.keda import v1alpha1

    model = getattr(v1alpha1, document["kind"], None)
    if model is None:
        return ["no such kind"]
    try:
        kept = model.model_validate(document).model_dump(
            mode="json", by_alias=True, exclude_unset=True
        )
    except pydantic.ValidationError as error:
        return [str(error)]
    return [] if kept == document else [f"unknown members: {document} is read as {kept}"]


if __name__ == "__main__":
    findings, objects = {"compose": compose, "kubernetes": kubernetes}[sys.argv[1]](sys.argv[2])
    print(json.dumps({"findings": findings, "objects": objects}))
