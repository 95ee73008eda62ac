import CLibPQ

/// Hands the server's notices to a Swift closure; lives as long as its session.
final class NoticeSink {
    private let handler: @Sendable (PostgresNotice) -> Void

    init(handler: @escaping @Sendable (PostgresNotice) -> Void) {
        self.handler = handler
    }

    /// The connection must not outlive this object: libpq keeps an unretained pointer to it.
    @unsafe
    func receiveNotices(of connection: OpaquePointer) {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        _ = unsafe PQsetNoticeReceiver(
            connection,
            { context, result in
                guard let context = unsafe context, let result = unsafe result else { return }
                let sink = unsafe Unmanaged<NoticeSink>.fromOpaque(context).takeUnretainedValue()
                let fields = unsafe ErrorFields(result)
                sink.handler(fields.notice)
            },
            context
        )
    }
}
