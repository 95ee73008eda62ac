package import JSON

/// What may vary in a log event.
///
/// Never a token, receipt, JWS or account token.
package enum LogValue: Hashable, Sendable {
    case string(String)
    case int(Int64)
    case double(Double)
    case bool(Bool)
    case array([LogValue])

    package static func int(_ value: some BinaryInteger) -> LogValue {
        .int(Int64(clamping: value))
    }

    /// In seconds, as its key should say: `retry.delay_seconds`.
    package static func seconds(_ duration: Duration) -> LogValue {
        .double(duration / .seconds(1))
    }

    /// Longer strings are cut, so that no event grows without bound.
    package static let stringBytesMax = 2048

    package func write(to writer: inout JSONWriter) {
        switch self {
        case .string(let text) where text.utf8.count > Self.stringBytesMax:
            writer.string(
                String(decoding: text.utf8.prefix(Self.stringBytesMax), as: UTF8.self) + "…"
            )
        case .string(let text): writer.string(text)
        case .int(let value): writer.int(value)
        case .double(let value) where value.isFinite: writer.double(value)
        case .double: writer.null()
        case .bool(let value): writer.bool(value)
        case .array(let values):
            writer.array { writer in
                for value in values {
                    value.write(to: &writer)
                }
            }
        }
    }
}

extension LogValue: ExpressibleByStringLiteral, ExpressibleByStringInterpolation,
    ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral, ExpressibleByFloatLiteral
{
    package init(stringLiteral value: String) {
        self = .string(value)
    }

    package init(integerLiteral value: Int64) {
        self = .int(value)
    }

    package init(booleanLiteral value: Bool) {
        self = .bool(value)
    }

    package init(floatLiteral value: Double) {
        self = .double(value)
    }
}
