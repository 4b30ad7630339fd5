"""The API's contract, api/openapi.yaml, as a check of real requests and answers.

A request that was accepted must be one that the document describes, and so must every answer: its status, its kind of
content, and each of its fields. Clients ignore fields that they do not know, so the document leaves answers open; here
they are closed, so that a field without a schema is a mistake of the document. An object for which the document names
no fields has none, unless it says `additionalProperties`.

    contract = Contract.load()
    problems = contract.check("POST", "/v1/jobs", body, 201, "application/json", answer)

Needs python3-yaml and python3-jsonschema; Contract.load() is None without them.
"""
import json
import os
import re
import urllib.parse

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LINES = {"runStep": "StepLine", "attachStep": "StepLine"}  # the streams whose lines have a schema
PROBLEMS_MAX = 20


def shape(value, depth=0):
    """Which fields and types it has; exchanges of one shape are checked once."""
    if isinstance(value, dict):
        return tuple(sorted((key, shape(item, depth + 1)) for key, item in value.items())) if depth < 9 else ()
    if isinstance(value, list):
        return ("list", *sorted({shape(item, depth + 1) for item in value[:50]}, key=repr))
    if isinstance(value, str):  # words of a fixed list are told apart, free texts are not
        return value if re.fullmatch(r"[A-Za-z_]{0,24}", value) else "a text"
    return type(value).__name__


def is_bare(schema):
    """An object without a description: neither its fields are named, nor that it may have any."""
    kinds = schema.get("type")
    return (kinds == "object" or isinstance(kinds, list) and "object" in kinds) and not {
        "$ref", "properties", "additionalProperties", "allOf", "oneOf", "anyOf"} & set(schema)


class Closer:
    """Schemas in which nothing may be but what they name."""

    def __init__(self, schemas):
        self.definitions = {}
        for name, schema in schemas.items():
            self.definitions[name] = self.close(schema)
            self.definitions[name + ".open"] = self.close(schema, False)

    def close(self, schema, closed=True):
        if not isinstance(schema, dict):
            return schema
        out = {}
        for key, value in schema.items():
            if key == "$ref":
                out[key] = "#/$defs/" + value.rsplit("/", 1)[1] + ("" if closed else ".open")
            elif key == "properties":
                out[key] = {name: self.close(item) for name, item in value.items()}
            elif key in ("items", "additionalProperties"):
                out[key] = self.close(value)
            elif key in ("oneOf", "anyOf"):
                out[key] = [self.close(item, closed) for item in value]
            elif key == "allOf":
                out[key] = [self.close(item, False) for item in value]
            elif key in ("if", "then", "else"):
                out[key] = self.close(value, False)
            else:
                out[key] = value
        if closed and ("properties" in out or "allOf" in out or is_bare(out)) and "additionalProperties" not in out:
            out["unevaluatedProperties"] = False
        return out


class Contract:
    @staticmethod
    def load(path=os.path.join(ROOT, "api/openapi.yaml")):
        try:
            import jsonschema  # noqa: F401
            import yaml
        except ImportError:
            return None
        with open(path) as file:
            return Contract(yaml.load(file, getattr(yaml, "CSafeLoader", yaml.SafeLoader)))

    def __init__(self, document):
        self.document = document
        self.closer = Closer(document["components"]["schemas"])
        self.validators = {}
        self.routes = []
        for path, operations in document["paths"].items():
            pattern = re.compile("^" + re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path)) + "$")
            for method, operation in operations.items():
                if method != "parameters":
                    self.routes.append((method.upper(), pattern, operation, operations.get("parameters", [])))
        # Paths without a parameter come before those that would take them for one.
        self.routes.sort(key=lambda route: "[^/]+" in route[1].pattern)

    def operation(self, method, path):
        for own, pattern, operation, shared in self.routes:
            if own == method and pattern.match(path):
                return operation, shared
        return None, []

    def validator(self, schema):
        import jsonschema
        key = json.dumps(schema, sort_keys=True)
        if key not in self.validators:
            self.validators[key] = jsonschema.Draft202012Validator(
                {**self.closer.close(schema), "$defs": self.closer.definitions})
        return self.validators[key]

    def wrong(self, schema, value):
        """Where `value` is not as the schema says, the deepest causes first named."""
        found = []
        for error in self.validator(schema).iter_errors(value):
            while error.context:
                error = max(error.context, key=lambda each: (len(each.absolute_path), -len(each.context or ())))
            place = "/".join(str(part) for part in error.absolute_path)
            found.append(f"{place or '(all of it)'}: {error.message[:300]}")
        return found

    def resolve(self, part):
        while "$ref" in part:
            kind, name = part["$ref"].split("/")[-2:]
            part = self.document["components"][kind][name]
        return part

    def check(self, method, target, body, status, kind, answer):
        """Problems as texts; none when all is as the document says. `body` and `answer` are bytes, or None."""
        path, _, query = target.partition("?")
        operation, shared = self.operation(method, path)
        where = f"{method} {path} {status}"
        if operation is None:
            return [] if status in (400, 404, 405) else [f"{where}: the document has no such operation"]
        problems = []
        if status < 400:
            problems += [f"{where}: the request: {one}" for one in self.check_request(operation, shared, query, body)]
        problems += [f"{where}: the answer: {one}" for one in self.check_answer(operation, status, kind, answer)]
        return problems

    def check_request(self, operation, shared, query, body):
        problems = []
        known = {each["name"]: each for each in map(self.resolve, [*shared, *operation.get("parameters", [])])
                 if each["in"] == "query"}
        for name, text in urllib.parse.parse_qsl(query, keep_blank_values=True):
            if name not in known:
                problems.append(f"the parameter {name} has no schema")
                continue
            schema = self.resolve(known[name]["schema"])
            if schema.get("type") == "array":  # the parameter is given once for each of them
                schema = schema["items"]
            value = int(text) if schema.get("type") == "integer" and text.lstrip("-").isdigit() else text
            problems += [f"{name}={text}: {one}" for one in self.wrong(schema, value)]
        content = operation.get("requestBody", {}).get("content", {})
        if body and "application/json" in content:
            problems += self.wrong(content["application/json"]["schema"], json.loads(body))
        elif body and not content and body != b"{}":
            problems.append("it has a body, and the document names none")
        return problems

    def check_answer(self, operation, status, kind, answer):
        responses = operation["responses"]
        if str(status) not in responses:
            return ["the document has no such status"]
        response = self.resolve(responses[str(status)])
        content = response.get("content", {})
        if not content:
            return ["it has a body, and the document names none"] if answer else []
        if kind not in content:
            return [f"its content is {kind}, not {' or '.join(content)}"]
        if kind in ("application/json", "application/problem+json"):
            return self.wrong(content[kind]["schema"], json.loads(answer))
        if operation["operationId"] in LINES and kind == "application/x-ndjson":
            schema = {"$ref": "#/components/schemas/" + LINES[operation["operationId"]]}
            return [one for line in answer.splitlines() for one in self.wrong(schema, json.loads(line))]
        return []


class Recorder:
    """Keeps one exchange of each shape, and checks them at the end."""

    def __init__(self):
        self.kept = {}

    def add(self, method, target, body, status, headers, answer):
        kind = next((value for name, value in headers.items() if name.lower() == "content-type"), "").split(";")[0]
        try:
            forms = [shape(json.loads(text)) if text and "json" in kind else None for text in (body, answer)]
        except (ValueError, RecursionError):
            forms = [None, None]
        key = (method, re.sub(r"\d+", "0", target), status, kind, *forms)
        if len(self.kept) < 5000:
            self.kept.setdefault(key, (method, target, body, status, kind, answer))

    def problems(self):
        contract = Contract.load() if self.kept else None
        found = [one for exchange in self.kept.values() for one in contract.check(*exchange)] if contract else []
        self.kept = {}
        return list(dict.fromkeys(found))[:PROBLEMS_MAX]
