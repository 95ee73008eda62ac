/// One app and environment that the demo's verifiers have to be told of.
package struct DemoApp: Sendable, Hashable {
    package let bundleID: String
    package let environment: String
    package let appAppleID: Int64

    package static let pro = DemoApp(
        bundleID: "com.example.pro",
        environment: "Production",
        appAppleID: 1_234_567_890
    )
    package static let proSandbox = DemoApp(
        bundleID: "com.example.pro",
        environment: "Sandbox",
        appAppleID: 1_234_567_890
    )
    /// Sells in Production alone: what comes for it from the Sandbox is misrouted.
    package static let coins = DemoApp(
        bundleID: "com.example.coins",
        environment: "Production",
        appAppleID: 2_345_678_901
    )

    package static let all = [pro, proSandbox, coins]
}
