import AppStore
package import Entitlements

extension RawPosition {
    package init(_ source: ObservationSource) {
        self.init(
            timestamp: source.timestamp ?? Timestamp(milliseconds: .max),
            partition: source.partition,
            offset: source.offset
        )
    }
}
