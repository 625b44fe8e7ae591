import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { updatesFrom } from '../../hack/generate/proto/from.ts';

const root = join(import.meta.dirname, '../..');
const catalogue = readFileSync(join(root, 'src/kinds/catalogue.ts'), 'utf8');
const ours = (file: string): string => readFileSync(join(root, 'schema/proto/michelangelo/api/v2', file), 'utf8');

const newKind = `syntax = "proto3";
package michelangelo.api.v2;
enum MetricState { METRIC_STATE_INVALID = 0; METRIC_STATE_DONE = 1; }
message MetricSpec { string title = 1; michelangelo.api.ResourceIdentifier model = 2; }
message MetricStatus { MetricState state = 1; google.protobuf.Timestamp end_time = 2; }
message Metric {
  option (michelangelo.api.resource) = { immutable: true };
  option (michelangelo.api.index) = { path: "spec.model" key: "model" };
  option (michelangelo.api.index) = { path: "status.state" key: "state" };
  option (michelangelo.api.index) = { path: "status.end_time" key: "end_time" };
  k8s.io.apimachinery.pkg.apis.meta.v1.TypeMeta type_meta = 1;
  k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta metadata = 2;
  MetricSpec spec = 3;
  MetricStatus status = 4;
}`;

const withOption = (text: string, message: string, option: string): string =>
  text.replace(new RegExp(`^message ${message} \\{`, 'm'), `message ${message} {\n  option ${option};`);

describe('the definitions of a newer original', () => {
  const made: string[] = [];
  after(() => made.forEach((folder) => rmSync(folder, { recursive: true })));

  /** As the original has them: another folder above, and options of its own. */
  const folderOf = (files: Readonly<Record<string, string>>): string => {
    const folder = mkdtempSync(join(tmpdir(), 'newer-'));
    made.push(folder);
    mkdirSync(join(folder, 'proto/api/v2'), { recursive: true });
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, 'proto/api/v2', name), text);
    return folder;
  };
  const take = (files: Readonly<Record<string, string>>) => updatesFrom(folderOf(files), catalogue);

  it('write nothing where they say what ours say, whatever their comments', async () => {
    const same = {
      'project.proto': `// Another comment.\n${ours('project.proto')}`,
      'model.proto': ours('model.proto'),
    };
    assert.deepEqual(await take(same), { outputs: [], news: [] });
  });

  it('bring a new field and an indexed column to a kind that is known', async () => {
    const field = ours('trigger_run.proto').replace('  bool auto_flip', '  string proxy_user = 77;\n  bool auto_flip');
    const text = withOption(field, 'TriggerRun', '(michelangelo.api.index) = { path: "spec.proxy_user" key: "proxy" }');
    const { outputs, news } = await take({ 'trigger_run.proto': text });
    assert.deepEqual(news, [
      'field michelangelo.api.v2.TriggerRunSpec.proxy_user',
      'indexed column proxy of TriggerRun',
    ]);
    assert.deepEqual(
      outputs.map(({ path }) => path),
      ['schema/proto/michelangelo/api/v2/trigger_run.proto', 'src/kinds/catalogue.ts'],
    );
    assert.match(
      outputs[1]?.content ?? '',
      /bool\('auto_flip', 'spec\.autoFlip'\),\s+text\('proxy', 'spec\.proxyUser'\)/,
    );
  });

  it('bring a new kind, which is ingested only where the configuration names it', async () => {
    const { outputs, news } = await take({ 'metric.proto': newKind });
    assert.ok(news.includes('kind Metric'));
    const [, written] = outputs;
    assert.equal(written?.path, 'src/kinds/catalogue.ts');
    const entry = written.content.slice(written.content.indexOf("kind: 'Metric'"));
    assert.match(entry, /plural: 'metrics',\n {4}table: 'metric',\n {4}optional: true,\n {4}immutable: true,/);
    for (const column of [
      "reference('model', 'spec.model')",
      "enumName('state', 'status.state', 'METRIC_STATE_INVALID')",
      "time('end_time', 'status.endTime')",
    ]) {
      assert.ok(entry.includes(column), column);
    }
  });

  it('bring nothing of the calls that the original offers, which name types of Kubernetes that no object has', async () => {
    const calls = `syntax = "proto3";
package michelangelo.api.v2;
message CreateMetricRequest {
  Metric metric = 1;
  k8s.io.apimachinery.pkg.apis.meta.v1.CreateOptions create_options = 2;
}
message CreateMetricResponse { Metric metric = 1; }
service MetricService {
  rpc CreateMetric(CreateMetricRequest) returns (CreateMetricResponse);
}`;
    const files = { 'metric.proto': newKind };
    assert.deepEqual(await take({ ...files, 'metric_svc.proto': calls }), await take(files));
  });

  it('bring the CRD, the tables, the rights and the rules of admission of a new kind', () => {
    const copy = mkdtempSync(join(tmpdir(), 'newer-copy-'));
    made.push(copy);
    for (const part of ['src', 'webhooks', 'schema', 'hack', 'config', 'crds', 'docs', 'package.json', 'biome.json']) {
      cpSync(join(root, part), join(copy, part), { recursive: true });
    }
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
    const from = folderOf({ 'metric.proto': newKind });
    execFileSync(process.execPath, [join(copy, 'hack/generate/main.ts'), '--from', from], { cwd: copy, stdio: 'pipe' });
    const written = (file: string): string => readFileSync(join(copy, file), 'utf8');
    assert.match(written('crds/optional/metrics.michelangelo.api.yaml'), /\n +plural: metrics\n/);
    assert.match(written('schema/migrations/optional/metric.sql'), /CREATE TABLE[^;]* `metric` [^;]*`end_time`/);
    const rules = written('config/components/kinds/metrics/kustomization.yaml');
    for (const name of ['ingester-reconciler', 'ingester-finalizer', 'ingester-rules']) {
      assert.match(rules, new RegExp(`name: ${name}\n +patch: \\|\n(?: +.*\n)*? +value: metrics\n`), name);
    }
    execFileSync(process.execPath, [join(copy, 'hack/generate/main.ts'), '--check'], { cwd: copy, stdio: 'pipe' });
  });

  it('are refused with all problems where a field or a value is gone or another one', async () => {
    const text = ours('trigger_run.proto')
      .replace(/bool auto_flip = (\d+)/, 'string auto_flip = $1')
      .replace('TRIGGER_RUN_STATE_RUNNING', 'TRIGGER_RUN_STATE_GOES');
    await assert.rejects(take({ 'trigger_run.proto': text }), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'PROTO_DEFINITIONS_REFUSED');
      assert.match(error.message, /TriggerRunSpec: field \d+ auto_flip +bool is gone or another one/);
      assert.match(error.message, /TriggerRunState: value \d+ TRIGGER_RUN_STATE_RUNNING is gone or another one/);
      return true;
    });
  });

  it('are refused where the folder has none, or one that cannot be read', async () => {
    await assert.rejects(take({ 'other.proto': 'syntax = "proto3"; package other; message M {}' }), /no definition of/);
    await assert.rejects(
      take({ 'metric.proto': newKind.replace('message MetricSpec {', 'message {') }),
      /metric\.proto: /,
    );
    await assert.rejects(
      take({ 'metric.proto': newKind.replace('string title', 'TimeRange title') }),
      /A type that no file defines: .*TimeRange/,
    );
  });
});
