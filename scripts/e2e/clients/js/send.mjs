// Sends spans, log records and data points to the OTLP/HTTP endpoint given as
// the first argument, as JSON, under the service name given as the second.
// Exits 1, and says why, when an exporter reports a failure.
import { diag, DiagLogLevel, SpanKind, SpanStatusCode, trace, context } from '@opentelemetry/api';
import { SeverityNumber } from '@opentelemetry/api-logs';
import { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';

const [endpoint, service] = process.argv.slice(2);
const failures = [];
const fail = (...what) => failures.push(what.map(String).join(' '));
diag.setLogger({ error: fail, warn: fail, info() {}, debug() {}, verbose() {} }, DiagLogLevel.WARN);

const resource = resourceFromAttributes({ 'service.name': service });

const tracers = new BasicTracerProvider({
  resource,
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url: `${endpoint}/v1/traces` }))],
});
const tracer = tracers.getTracer('js', '1.0.0');
const root = tracer.startSpan('root', { kind: SpanKind.SERVER });
for (let i = 0; i < 20; i++) {
  const child = tracer.startSpan(
    `child ${i}`,
    { attributes: { n: i, ratio: i / 4, ok: i % 2 === 0, tags: ['a', 'b'] } },
    trace.setSpan(context.active(), root),
  );
  child.addEvent('tick', { at: i });
  child.setStatus({ code: SpanStatusCode.ERROR, message: 'as asked' });
  child.end();
}
root.end();

const loggers = new LoggerProvider({
  resource,
  processors: [new BatchLogRecordProcessor({ exporter: new OTLPLogExporter({ url: `${endpoint}/v1/logs` }) })],
});
const logger = loggers.getLogger('js', '1.0.0');
for (let i = 0; i < 20; i++) {
  logger.emit({
    severityNumber: SeverityNumber.WARN,
    severityText: 'WARN',
    body: `line ${i} \u6f22\u5b57`,
    attributes: { n: i, big: 9007199254740991, nested: { list: [1, 'two', null] } },
  });
}

const meters = new MeterProvider({
  resource,
  readers: [new PeriodicExportingMetricReader({ exporter: new OTLPMetricExporter({ url: `${endpoint}/v1/metrics` }) })],
});
const meter = meters.getMeter('js', '1.0.0');
meter.createCounter('js.requests', { unit: '{request}' }).add(7, { route: '/items' });
const latency = meter.createHistogram('js.latency', { unit: 'ms' });
for (const v of [1, 20, 300]) latency.record(v, { route: '/items' });

// Shutting down flushes. Flushing first would send the points twice.
for (const provider of [tracers, loggers, meters]) {
  await provider.shutdown().catch(fail);
}
if (failures.length > 0) {
  console.error(failures.join('\n'));
  process.exit(1);
}
