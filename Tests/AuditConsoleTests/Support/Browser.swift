import Foundation
import Simulation
import TestSupport
import Testing

/// A real Chromium without a window, driven by W3C WebDriver through chromedriver.
final class Browser: Sendable {
    static let chromium = "/usr/bin/chromium"
    static let driver = "/usr/bin/chromedriver"

    static var isAvailable: Bool { [chromium, driver].allSatisfy { FileManager.default.isExecutableFile(atPath: $0) } }

    struct Failure: Error { let what: String }

    private let process: ChildProcess
    private let base: URL
    private let folder: URL

    /// Starts a driver and a browser with a profile of its own.
    init() async throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "browser-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let (lines, continuation) = AsyncStream<String>.makeStream()
        process = try ChildProcess(
            executable: Self.driver, arguments: ["--port=0"], environment: ProcessInfo.processInfo.environment,
            standardOutput: .lines { continuation.yield($0) })
        var port: Substring?
        for await line in lines {
            port = line.firstMatch(of: /started successfully on port (\d+)/)?.1
            if port != nil { break }
        }
        guard let port, let driver = URL(string: "http://127.0.0.1:\(port)/session") else {
            throw Failure(what: "chromedriver named no port")
        }
        let arguments = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
            "--user-data-dir=\(folder.path(percentEncoded: false))",
        ]
        let wanted: [String: Any] = [
            "browserName": "chrome", "goog:chromeOptions": ["binary": Self.chromium, "args": arguments],
            "goog:loggingPrefs": ["browser": "ALL"],
        ]
        let answer = try await Self.ask("POST", driver, ["capabilities": ["alwaysMatch": wanted]])
        guard let value = answer as? [String: Any], let id = value["sessionId"] as? String else {
            throw Failure(what: "no session: \(answer)")
        }
        base = driver.appending(path: id)
    }

    deinit {
        process.kill()
        try? FileManager.default.removeItem(at: folder)
    }

    /// Ends browser and driver in order.
    func close() async {
        _ = try? await Self.ask("DELETE", base, nil)
        _ = try? await process.stop(grace: .seconds(5))
    }

    func open(_ url: String) async throws { try await command("url", ["url": url]) }

    var url: String { get async throws { try await text(Self.ask("GET", base.appending(path: "url"), nil)) } }

    /// Runs a function body in the page and returns its result.
    @discardableResult func run(_ script: String) async throws -> Any {
        try await command("execute/sync", ["script": script, "args": [Any]()])
    }

    /// The result of a script that returns a list of texts.
    func texts(_ script: String) async throws -> [String] { try await run(script) as? [String] ?? [] }

    /// Types into a field, or clicks, as a person does.
    func type(_ text: String, into selector: String) async throws {
        let element = try await element(selector)
        try await command("element/\(element)/clear", [:])
        try await command("element/\(element)/value", ["text": text])
    }

    func click(_ selector: String) async throws {
        try await command("element/\(try await element(selector))/click", [:])
    }

    /// Presses keys at the present focus; `\u{E004}` is the tabulator.
    func press(_ keys: String) async throws {
        let actions = keys.map { key in
            [["type": "keyDown", "value": String(key)], ["type": "keyUp", "value": String(key)]]
        }.flatMap { $0 }
        try await command("actions", ["actions": [["type": "key", "id": "k", "actions": actions]]])
    }

    /// The messages of the page's JavaScript console since the last call: errors and warnings.
    func complaints() async throws -> [String] {
        let entries = try await command("se/log", ["type": "browser"])
        return (entries as? [[String: Any]] ?? []).filter { ["SEVERE", "WARNING"].contains($0["level"] as? String) }.map
        { "\($0["message"] ?? "")" }
    }

    /// Sets the width, and light or dark.
    func view(width: Int, isDark: Bool) async throws {
        try await devTools(
            "Emulation.setDeviceMetricsOverride",
            ["width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false])
        let scheme = ["name": "prefers-color-scheme", "value": isDark ? "dark" : "light"]
        try await devTools("Emulation.setEmulatedMedia", ["features": [scheme]])
    }

    func screenshot() async throws -> Data {
        let answer = try await devTools("Page.captureScreenshot", ["format": "png", "captureBeyondViewport": true])
        let data = (answer as? [String: Any])?["data"] as? String
        guard let data, let png = Data(base64Encoded: data) else { throw Failure(what: "no screenshot") }
        return png
    }

    func setScripts(_ isOn: Bool) async throws {
        try await devTools("Emulation.setScriptExecutionDisabled", ["value": !isOn])
    }

    @discardableResult private func devTools(_ name: String, _ parameters: [String: Any]) async throws -> Any {
        try await command("goog/cdp/execute", ["cmd": name, "params": parameters])
    }

    private func element(_ selector: String) async throws -> String {
        let found = try await command("element", ["using": "css selector", "value": selector])
        // The name of the member is fixed by W3C WebDriver, section 11.
        return try text((found as? [String: Any])?["element-6066-11e4-a52e-4f735466cecf"])
    }

    private func text(_ value: Any?) throws -> String {
        guard let text = value as? String else { throw Failure(what: "no text: \(value ?? "")") }
        return text
    }

    @discardableResult private func command(_ path: String, _ body: [String: Any]) async throws -> Any {
        try await Self.ask("POST", base.appending(path: path), body)
    }

    /// Sends a command on a connection and a thread of its own, since it blocks.
    private static func ask(_ method: String, _ url: URL, _ body: [String: Any]?) async throws -> Any {
        let content = try body.map { try JSONSerialization.data(withJSONObject: $0) } ?? Data()
        let port = UInt16(url.port ?? 0)
        let request =
            "\(method) \(url.path(percentEncoded: true)) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n"
            + "Content-Type: application/json\r\nContent-Length: \(content.count)\r\nConnection: close\r\n\r\n"
            + String(decoding: content, as: UTF8.self)
        let text = try await withCheckedThrowingContinuation { continuation in
            Thread {
                continuation.resume(
                    with: Result {
                        let client = try RawClient(port: port, silenceMax: 120)
                        client.send(request)
                        return client.readMessage()
                    })
            }.start()
        }
        let json = text.split(separator: "\r\n\r\n", maxSplits: 1).last ?? ""
        let parsed = try JSONSerialization.jsonObject(with: Data(json.utf8))
        let value = (parsed as? [String: Any])?["value"] ?? NSNull()
        if let error = value as? [String: Any], let code = error["error"] as? String {
            throw Failure(what: "\(url.lastPathComponent): \(code): \(error["message"] ?? "")")
        }
        return value
    }
}

extension Browser {
    func signIn(to fixture: ConsoleFixture, as user: String) async throws {
        try await open("http://127.0.0.1:\(fixture.port)/sign-in")
        try await type(user, into: "#name")
        try await type(ConsoleFixture.password, into: "#password")
        try await click("main button")
        try await eventually { try await contents(of: ".visitor .name") == [user] }
    }

    /// The texts of the matching elements.
    func contents(of selector: String) async throws -> [String] {
        try await texts("return [...document.querySelectorAll(\"\(selector)\")].map((e) => e.textContent)")
    }
}

extension Trait where Self == ConditionTrait {
    /// Skips a test if Chromium is not installed, and says so.
    static var needsChromium: Self {
        .enabled(
            if: Browser.isAvailable, "no \(Browser.chromium) or \(Browser.driver): deploy/install.sh test installs both"
        )
    }
}
