import Testing

/// The whole pipeline with real parts: the four executables as processes of their own, a broker and
/// PostgreSQL.
///
/// Suites run one after the other, as each uses a whole machine.
@Suite(.serialized, .needsBuiltWorkers) enum PipelineTests {}
