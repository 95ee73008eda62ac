package import HTTP
import JSON

/// What a worker answers over HTTP: `/livez`, `/readyz` and `/metrics`.
package enum HealthRoutes {
    package static func routes(health: Health, metrics: MetricsRegistry) -> [HTTPRoute] {
        let isReady = metrics.gauge(
            "worker_ready_state",
            "1 while the condition holds, 0 while it does not.",
            labels: ["condition"]
        )
        metrics.beforeExposition {
            for condition in health.conditions {
                isReady[condition.name].set(health.reason(condition) == nil ? 1 : 0)
            }
        }
        return [
            HTTPRoute(.get, "/livez") { _ in
                health.isAlive()
                    ? .text("ok\n")
                    : .text("the loop has made no progress for a while\n", status: 503)
            },
            HTTPRoute(.get, "/readyz") { _ in readiness(health) },
            HTTPRoute(.get, "/metrics") { _ in
                HTTPResponse(
                    contentType: "text/plain; version=0.0.4; charset=utf-8",
                    body: metrics.exposition()
                )
            },
        ]
    }

    private static func readiness(_ health: Health) -> HTTPResponse {
        let reasons = health.conditions.map { ($0, health.reason($0)) }
        let isReady = reasons.allSatisfy { $0.1 == nil }
        var writer = JSONWriter()
        writer.object { writer in
            writer.key("ready")
            writer.bool(isReady)
            writer.key("conditions")
            writer.object { writer in
                for (condition, reason) in reasons {
                    writer.key(condition.name)
                    writer.string(reason ?? "ok")
                }
            }
        }
        return .json(writer.bytes + [UInt8(ascii: "\n")], status: isReady ? 200 : 503)
    }
}
