"""Services written with `rest`, as their callers see them. Argument: the program `drom`."""
import json
import os
import socket
import sys
import tempfile
import unittest

from service import Service

PROGRAM = ""
ROUTES = """
- restConfiguration:
    contextPath: /api
    apiContextPath: /openapi
    enableCORS: true
    corsHeaders:
      - { key: Access-Control-Allow-Origin, value: https://shop.example.com }
      - { key: Access-Control-Max-Age, value: 60 }
      - { key: Access-Control-Allow-Credentials, value: true }
      - { key: Access-Control-Expose-Headers, value: ETag }
    clientRequestValidation: true
    bindingMode: json
    apiProperty:
      - { key: api.title, value: Orders }
      - { key: api.version, value: "2.1" }
      - { key: api.contact.email, value: orders@example.com }
- rest:
    path: /orders
    tag: orders
    produces: application/json
    securityDefinitions:
      bearerToken: { key: token, format: JWT }
    get:
      - path: /{id}
        id: getOrder
        description: One order
        param:
          - { name: id, dataType: integer, dataFormat: int64, description: Its number }
          - name: parts
            type: query
            required: false
            defaultValue: few
            allowableValues: [few, all]
          - { name: X-Tenant, type: header, required: true }
        responseMessage:
          - code: 200
            message: The order
            responseModel: com.acme.Order
            header:
              - { name: ETag, description: Its version }
            examples:
              - { key: application/json, value: '{"id": 7}' }
          - { code: 404, message: No such order }
        security:
          - { key: token }
        to: direct:order
      - path: /new
        apiDocs: false
        to:
          uri: direct
          parameters: { name: fresh }
    post:
      - consumes: application/json
        type: com.acme.Order
        outType: com.acme.Order[]
        deprecated: true
        param:
          - { name: body, type: body, description: The order }
        steps:
          - setBody: { simple: "${body[name]} is made" }
          - setHeader: { name: Content-Type, constant: text/plain }
    delete:
      - path: /{id}
        clientRequestValidation: false
        to: direct:gone
- rest:
    path: plain
    bindingMode: "off"
    clientRequestValidation: false
    put:
      - path: /{a}/x/{b}
        to: direct:plain
    patch:
      - path: /
        to: direct:plain
    get:
      - path: /broken
        to: direct:broken
- from:
    uri: direct:broken
    steps:
      - throwException: { exceptionType: java.lang.IllegalStateException, message: "no luck" }
- rest:
    path: contract
    openApi:
      specification: pets.json
      missingOperation: ignore
      apiContextPath: /contract/docs
- rest:
    path: shop
    openApi:
      specification: shop.yaml
- from:
    uri: direct:listShops
    steps:
      - setBody: { simple: '["${header.town}", ${header.size}]' }
- from:
    uri: direct:listPets
    steps:
      - setBody: { simple: '["${header.kind}"]' }
- from:
    uri: direct:order
    steps:
      - setBody: { simple: '{"id": ${header.id}, "parts": "${header.parts}"}' }
- from:
    uri: direct:fresh
    steps:
      - setBody: { constant: fresh }
- from:
    uri: direct:gone
    steps:
      - setBody: { constant: "" }
- from:
    uri: direct:plain
    steps:
      - setBody: { simple: "${header.CamelHttpMethod} ${header.a} ${header.b} ${body}" }
"""
PETS = {
    "openapi": "3.0.1",
    "info": {"title": "Pets", "version": "1"},
    "servers": [{"url": "https://example.com/ignored"}],
    "paths": {
        "/pets": {
            "parameters": [{"$ref": "#/components/parameters/kind"}],
            "get": {
                "operationId": "listPets",
                "responses": {"200": {"description": "", "content": {"application/json": {}, "text/csv": {}}}},
            },
            "post": {"operationId": "missing", "responses": {}},
        }
    },
    "components": {
        "parameters": {
            "kind": {"name": "kind", "in": "query", "required": True, "schema": {"enum": ["cat", "dog"]}}
        }
    },
}
SHOP = """
openapi: 3.1
info:
  title: Shops
  version: "2"
servers:
  - url: /v2
paths:
  /shops/{town}:
    parameters:
      - { name: town, in: path, required: true, schema: { enum: [Jena, Gera] } }
      - { name: size, in: query, required: true }
    get:
      operationId: listShops
      parameters:
        - { name: size, in: query, schema: { default: 3 } }
      responses:
        200: { description: all, content: { application/json: {} } }
"""


class Rest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        path = os.path.join(cls.folder.name, "rest.yaml")
        with open(path, "w") as out:
            out.write(ROUTES)
        with open(os.path.join(cls.folder.name, "pets.json"), "w") as out:
            json.dump(PETS, out)
        with open(os.path.join(cls.folder.name, "shop.yaml"), "w") as out:
            out.write(SHOP)
        command = [PROGRAM, "run", path, "-D", "drom.http.host=127.0.0.1", "-D", "drom.http.port={{port}}"]
        cls.service = Service(command, cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        code = cls.service.terminate()
        cls.folder.cleanup()
        assert code == 0, code

    def ask(self, method, path, body=None, **headers):
        return self.service.request(method, "/api" + path, body, {k.replace("_", "-"): v for k, v in headers.items()})

    def test_operations_reach_their_targets(self):
        status, headers, body = self.ask("GET", "/orders/7", X_Tenant="a")
        self.assertEqual((status, json.loads(body)), (200, {"id": 7, "parts": "few"}))
        self.assertEqual(headers["Content-Type"], "application/json")
        self.assertNotIn("parts", headers)
        self.assertEqual(json.loads(self.ask("GET", "/orders/7?parts=all", X_Tenant="a")[2])["parts"], "all")
        self.assertEqual(self.ask("GET", "/orders/new")[2], b"fresh")
        self.assertEqual(self.ask("DELETE", "/orders/7")[0], 204)
        self.assertEqual(self.ask("PUT", "/plain/1/x/2", "hi")[2], b"PUT 1 2 hi")
        self.assertEqual(self.ask("PATCH", "/plain", "{broken")[2], b"PATCH   {broken")
        status, headers, body = self.ask("POST", "/orders", '{"name": "tea"}', Content_Type="application/json")
        self.assertEqual((status, headers["Content-Type"], body), (200, "text/plain", b"tea is made"))

    def test_requests_are_checked(self):
        for method, path, body, headers, status, words in (
            ("GET", "/orders/7", None, {}, 400, "the header parameter 'X-Tenant' is missing"),
            ("GET", "/orders/7?parts=some", None, {"X_Tenant": "a"}, 400, "'parts' has a value that is not allowed"),
            ("GET", "/orders/7", None, {"Accept": "text/html"}, 406, "accepted media type"),
            ("POST", "/orders", "", {"Content_Type": "application/json"}, 400, "the body is missing"),
            ("POST", "/orders", "{", {"Content_Type": "application/json"}, 400, "the body is no JSON"),
            ("POST", "/orders", "x", {"Content_Type": "text/plain"}, 415, "media type"),
            ("GET", "/nothing", None, {}, 404, "no route has this path"),
        ):
            with self.subTest(path=path, status=status):
                got, answer_headers, answer = self.ask(method, path, body, **headers)
                self.assertEqual(got, status)
                self.assertIn(words, json.loads(answer)["error"]["message"])
                self.assertEqual(answer_headers["Content-Type"], "application/json")
        status, headers, _ = self.ask("PUT", "/orders/7")
        self.assertEqual((status, headers["Allow"]), (405, "GET, HEAD, DELETE, OPTIONS"))
        status, headers, body = self.ask("HEAD", "/orders/new")
        self.assertEqual((status, headers["Content-Length"], body), (200, "5", b""))

    def test_browsers_of_the_right_origin_may_call(self):
        status, headers, _ = self.ask(
            "OPTIONS", "/orders/7", Origin="https://shop.example.com", Access_Control_Request_Method="GET"
        )
        self.assertEqual(status, 204)
        self.assertEqual(headers["Access-Control-Allow-Origin"], "https://shop.example.com")
        self.assertEqual(headers["Access-Control-Max-Age"], "60")
        self.assertEqual(headers["Access-Control-Allow-Credentials"], "true")
        self.assertEqual(headers["Access-Control-Expose-Headers"], "ETag")
        headers = self.ask("GET", "/orders/new", Origin="https://evil.example.com")[1]
        self.assertNotIn("Access-Control-Allow-Origin", headers)

    def test_the_document_describes_the_service(self):
        status, headers, body = self.ask("GET", "/openapi")
        self.assertEqual((status, headers["Content-Type"]), (200, "application/json"))
        document = json.loads(body)
        self.assertEqual(document["openapi"], "3.0.3")
        self.assertEqual(document["info"]["title"], "Orders")
        self.assertEqual(document["info"]["version"], "2.1")
        self.assertEqual(document["info"]["contact"], {"email": "orders@example.com"})
        self.assertEqual(document["servers"], [{"url": "/api"}])
        paths = document["paths"]
        self.assertEqual(sorted(paths), ["/contract/pets", "/orders", "/orders/{id}", "/plain", "/plain/broken", "/plain/{a}/x/{b}", "/shop/shops/{town}"])
        one = paths["/orders/{id}"]["get"]
        self.assertEqual((one["operationId"], one["summary"], one["tags"]), ("getOrder", "One order", ["orders"]))
        self.assertEqual(
            one["parameters"],
            [
                {
                    "name": "id",
                    "in": "path",
                    "description": "Its number",
                    "required": True,
                    "schema": {"type": "integer", "format": "int64"},
                },
                {
                    "name": "parts",
                    "in": "query",
                    "required": False,
                    "schema": {"type": "string", "enum": ["few", "all"], "default": "few"},
                },
                {"name": "X-Tenant", "in": "header", "required": True, "schema": {"type": "string"}},
            ],
        )
        self.assertEqual(
            one["responses"]["200"],
            {
                "description": "The order",
                "headers": {"ETag": {"description": "Its version", "schema": {"type": "string"}}},
                "content": {
                    "application/json": {
                        "schema": {"$ref": "#/components/schemas/Order"},
                        "examples": {"example": {"value": '{"id": 7}'}},
                    }
                },
            },
        )
        self.assertEqual(one["responses"]["404"], {"description": "No such order"})
        self.assertEqual(one["security"], [{"token": []}])
        made = paths["/orders"]["post"]
        self.assertTrue(made["deprecated"])
        self.assertEqual(
            made["requestBody"],
            {
                "description": "The order",
                "required": True,
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Order"}}},
            },
        )
        self.assertEqual(
            made["responses"]["200"]["content"]["application/json"]["schema"],
            {"type": "array", "items": {"$ref": "#/components/schemas/Order"}},
        )
        names = [p["name"] for p in paths["/plain/{a}/x/{b}"]["put"]["parameters"]]
        self.assertEqual(names, ["a", "b"])
        self.assertEqual(
            document["components"],
            {
                "schemas": {"Order": {"type": "object"}},
                "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
            },
        )

    def test_the_document_comes_as_yaml_too(self):
        by_name = self.ask("GET", "/openapi/openapi.yaml")
        self.assertEqual((by_name[0], by_name[1]["Content-Type"]), (200, "application/yaml"))
        self.assertEqual(by_name[2], self.ask("GET", "/openapi", Accept="application/yaml")[2])
        self.assertTrue(by_name[2].startswith(b'openapi: "3.0.3"\ninfo:\n  title: "Orders"\n'), by_name[2])
        self.assertIn(b'  "/orders/{id}":\n', by_name[2])
        self.assertEqual(self.ask("GET", "/openapi/other")[0], 404)

    def test_a_contract_is_served(self):
        status, headers, body = self.ask("GET", "/contract/pets?kind=cat")
        self.assertEqual((status, headers["Content-Type"], body), (200, "application/json", b'["cat"]'))
        self.assertEqual(self.ask("GET", "/contract/pets?kind=cat", Accept="text/csv")[1]["Content-Type"], "text/csv")
        self.assertEqual(self.ask("GET", "/contract/pets?kind=cow")[0], 400)
        self.assertEqual(self.ask("GET", "/contract/pets")[0], 400)
        self.assertEqual(self.ask("POST", "/contract/pets?kind=cat")[0], 405)
        self.assertEqual(json.loads(self.ask("GET", "/contract/docs")[2]), PETS)

    def test_the_contract_may_be_yaml(self):
        self.assertEqual(self.ask("GET", "/shop/shops/Jena")[2], b'["Jena", 3]')
        self.assertEqual(self.ask("GET", "/shop/shops/Bonn")[0], 400)

    def test_failures_tell_no_secrets(self):
        secrets = ("K1SECRET", "T2SECRET", "C3SECRET")
        status, _, body = self.ask(
            "GET",
            "/plain/broken?x=1&api-key=K1SECRET",
            Authorization="Bearer T2SECRET",
            Cookie="session=C3SECRET",
        )
        self.assertEqual(status, 422)
        answer = json.loads(body)["error"]
        self.assertIn(answer["exchangeId"], self.service.log())
        self.assertIn("no luck", self.service.log())
        for secret in secrets:
            self.assertNotIn(secret, self.service.log())
            self.assertNotIn(secret, body.decode())
        self.assertNotIn("no luck", body.decode())

    def test_bytes_that_are_no_text_do_no_harm(self):
        for path in ("/api/orders/%ff%fe", "/api/orders/7?parts=%ff", "/api/orders/7?%c3%28=1", "/api/plain/%80/x/%ff"):
            with self.subTest(path=path), socket.create_connection(("127.0.0.1", self.service.port), timeout=30) as s:
                head = f"PUT {path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\nX-Tenant: \xff\xfe\r\n\r\n"
                s.sendall(head.encode("latin-1"))
                answer = b""
                while part := s.recv(4096):
                    answer += part
                self.assertTrue(answer.startswith(b"HTTP/1.1 "), answer)
        self.assertEqual(self.ask("GET", "/orders/new")[0], 200)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
