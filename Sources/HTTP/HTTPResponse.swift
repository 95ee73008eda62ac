/// What a route answers.
package struct HTTPResponse: Sendable, Equatable {
    package var status: Int
    package var contentType: String
    package var headers: [String: String]
    package var body: [UInt8]

    package init(
        status: Int = 200,
        contentType: String = "text/plain; charset=utf-8",
        headers: [String: String] = [:],
        body: [UInt8] = []
    ) {
        self.status = status
        self.contentType = contentType
        self.headers = headers
        self.body = body
    }

    package static func text(_ text: String, status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, body: Array(text.utf8))
    }

    package static func json(_ body: [UInt8], status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, contentType: "application/json", body: body)
    }
}
