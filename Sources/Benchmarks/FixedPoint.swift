/// Numbers as reports show them.
enum FixedPoint {
    static func text(_ value: Double, digits: Int) -> String {
        guard value.isFinite else { return "–" }
        let scale = (0..<digits).reduce(1.0) { scale, _ in scale * 10 }
        let scaled = Int((value * scale).rounded())
        guard digits > 0 else { return String(scaled) }
        let fraction = String(scaled % Int(scale))
        let zeros = String(repeating: "0", count: digits - fraction.count)
        return "\(scaled / Int(scale)).\(zeros)\(fraction)"
    }
}
