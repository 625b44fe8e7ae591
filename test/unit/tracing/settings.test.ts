import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readTraceSettings } from '../../../src/tracing/settings.ts';

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example:4318/otlp' };

describe('the settings of traces', () => {
  it('are off without an endpoint, and where a variable says so', () => {
    const off = { settings: undefined, problems: [] };
    for (const env of [
      {},
      { OTEL_EXPORTER_OTLP_ENDPOINT: ' ' },
      { OTEL_TRACES_SAMPLER: 'always_on', OTEL_SERVICE_NAME: 'x' },
      { ...endpoint, OTEL_SDK_DISABLED: 'TRUE' },
      { ...endpoint, OTEL_TRACES_EXPORTER: 'none' },
    ]) {
      assert.deepEqual(readTraceSettings(env), off, JSON.stringify(env));
    }
  });

  it('have the defaults of OpenTelemetry', () => {
    assert.deepEqual(readTraceSettings(endpoint), {
      settings: {
        endpoint: 'https://collector.example:4318',
        sampler: 'parentbased_always_on',
        ratio: 1,
        queueSpans: 2048,
        batchSpans: 512,
        delayMs: 5000,
        timeoutMs: 10_000,
      },
      problems: [],
    });
  });

  it('take the standard variables', () => {
    const { settings, problems } = readTraceSettings({
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:4318/v1/traces',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.01',
      OTEL_BSP_SCHEDULE_DELAY: '200',
      OTEL_EXPORTER_OTLP_TIMEOUT: '3000',
      OTEL_BSP_MAX_QUEUE_SIZE: '100',
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '10',
    });
    assert.deepEqual(problems, []);
    assert.deepEqual(settings, {
      endpoint: 'http://127.0.0.1:4318',
      sampler: 'parentbased_traceidratio',
      ...{ ratio: 0.01, queueSpans: 100, batchSpans: 10, delayMs: 200, timeoutMs: 3000 },
    });
  });

  it('say what is wrong, and are off only where no span could arrive', () => {
    const wrong = (more: Readonly<Record<string, string>>): readonly [boolean, readonly string[]] => {
      const { settings, problems } = readTraceSettings({ ...endpoint, ...more });
      return [settings !== undefined, problems];
    };
    assert.deepEqual(wrong({ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }), [
      false,
      ['OTEL_EXPORTER_OTLP_ENDPOINT is no URL that begins with http:// or https://. No traces are exported.'],
    ]);
    assert.deepEqual(wrong({ OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'grpc' }), [
      false,
      [
        'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL can only be http/protobuf, which collectors take on port 4318. No traces are exported.',
      ],
    ]);
    assert.equal(wrong({ OTEL_TRACES_EXPORTER: 'zipkin' })[0], false);
    const [isOn, problems] = wrong({
      OTEL_TRACES_SAMPLER: 'sometimes',
      OTEL_TRACES_SAMPLER_ARG: '2',
      OTEL_BSP_MAX_QUEUE_SIZE: '1000000',
      OTEL_EXPORTER_OTLP_CERTIFICATE: '/nowhere/ca.crt',
    });
    assert.equal(isOn, true);
    assert.deepEqual(
      problems.map((problem) => problem.split(' ')[0]),
      ['OTEL_TRACES_SAMPLER', 'OTEL_TRACES_SAMPLER_ARG', 'OTEL_BSP_MAX_QUEUE_SIZE', 'OTEL_EXPORTER_OTLP_CERTIFICATE'],
    );
  });

  it('show neither the password nor the path of an endpoint', () => {
    const { settings } = readTraceSettings({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'https://user:secret@collector.example/key',
    });
    assert.equal(settings?.endpoint, 'https://collector.example');
  });
});
