package import Settings

extension WorkerSettings {
    /// Of the verify-worker, which reads the header, and of the link-worker, which goes by it: both
    /// are to have it alike.
    package static let trustsIngestUser = Setting(
        "linking.trust_ingest_user",
        .bool,
        default: false,
        "Whether the user whom the ingestion service names in the record header user-id owns the "
            + "purchase where nothing else names one; for verify-worker and link-worker alike."
    )
}
