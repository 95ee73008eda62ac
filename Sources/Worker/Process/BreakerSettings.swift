package import Settings

/// The settings of the breaker against wrong settings, in `verify-worker`.
package enum BreakerSettings {
    package static let distinctMax = Setting(
        "breaker.distinct_max",
        .int(1...1_000_000),
        default: 1_000,
        "Distinct genuine bodies of unknown apps after which nothing more is read."
    )
    package static let window = Setting(
        "breaker.window",
        .duration(.seconds(1)...(.seconds(3600))),
        default: .seconds(60),
        "How long after its start a worker can be stopped by them, if it accepts none before."
    )

    package static let declarations = [distinctMax.declaration, window.declaration]
}
