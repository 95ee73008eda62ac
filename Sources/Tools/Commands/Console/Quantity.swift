/// Formats numbers and times for people, identically in every locale.
package enum Quantity {
    /// Formats `1234567` as `1,234,567`.
    package static func grouped(_ number: some BinaryInteger) -> String {
        let digits = Array(String(number.magnitude))
        var text = number < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
            text.append(digit)
        }
        return text
    }

    /// Formats a number with its unit: `1 body`, `2 bodies`.
    package static func counted(_ number: some BinaryInteger, _ one: String, _ many: String? = nil) -> String {
        "\(grouped(number)) \(number == 1 ? one : many ?? one + "s")"
    }

    /// Formats a span of time by its two greatest units, rounded down: `850 ms`, `42 s`, `3 min 5 s`.
    package static func span(milliseconds: Int64) -> String {
        guard milliseconds >= 1_000 else { return "\(milliseconds) ms" }
        let seconds = milliseconds / 1_000
        let units: [(name: String, seconds: Int64)] = [("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)]
        guard let first = units.firstIndex(where: { seconds >= $0.seconds }) else { return "0 s" }
        let greater = "\(seconds / units[first].seconds) \(units[first].name)"
        guard first + 1 < units.count else { return greater }
        let rest = seconds % units[first].seconds / units[first + 1].seconds
        return rest == 0 ? greater : "\(greater) \(rest) \(units[first + 1].name)"
    }

    /// Formats a rate as `1,234/s`, or below ten per second as `2.5/s`.
    package static func rate(_ perSecond: Double) -> String {
        let tenths = Int((min(max(0, perSecond), 1e12) * 10).rounded())
        return tenths < 100 ? "\(tenths / 10).\(tenths % 10)/s" : "\(grouped(tenths / 10))/s"
    }

    /// Formats bytes by the greatest binary unit with a number of at least 1: `5.4 KiB`.
    package static func bytes(_ count: Int) -> String {
        guard count >= 1_024 else { return "\(count) B" }
        let (unit, size) = count >= 1_048_576 ? ("MiB", 1_048_576) : ("KiB", 1_024)
        let tenths = count * 10 / size
        return tenths.isMultiple(of: 10) ? "\(tenths / 10) \(unit)" : "\(tenths / 10).\(tenths % 10) \(unit)"
    }
}
