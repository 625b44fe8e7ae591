// Manifests of archived objects, as a GitOps tool would have them rendered.
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { aManifest, Cluster, kind } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { runIngester } from '../support/ingester.ts';
import { useBundle } from '../support/use-bundle.ts';

const NS = 'render';
const run = kind('PipelineRun');
const marks = { 'argocd.argoproj.io/hook': 'Skip', 'kustomize.toolkit.fluxcd.io/ssa': 'Ignore' };
const text = (name: string) =>
  `apiVersion: michelangelo.api/v2\nkind: PipelineRun\nmetadata:\n  name: ${name} # as written\n  namespace: ${NS}\n`;

describe('ingester render', () => {
  const bundle = useBundle();
  let cluster: Cluster;
  const render = (input: string, ...args: readonly string[]) => runIngester(bundle(), ['render', ...args], { input });
  const evict = async (name: string) => {
    await cluster.apply(aManifest('PipelineRun', NS, name));
    await cluster.patch(run, NS, name, { metadata: { annotations: { 'michelangelo/Immutable': 'true' } } });
    await eventually(
      async () => assert.notEqual((await cluster.rows(run, NS, name))[0]?.['evict_time'] ?? null, null),
      60_000,
    );
    await cluster.gone(run, NS, name);
  };

  before(async () => {
    cluster = new Cluster(bundle());
    await cluster.namespace(NS);
    await evict('archived');
    await evict('reborn');
    await cluster.apply(aManifest('PipelineRun', NS, 'reborn'));
    await cluster.apply(aManifest('PipelineRun', NS, 'living'));
  });

  it('marks archived objects, and leaves every byte of objects that live or never existed', async () => {
    const others = `# a comment\n${text('living')}---\n${text('reborn')}---\n${text('never')}`;
    const { code, stdout, stderr } = await render(`${others}---\n${text('archived')}`);
    assert.equal(code, 0, stderr);
    assert.ok(stdout.startsWith(others));
    const [, , , marked] = parseAllDocuments(stdout);
    assert.deepEqual((marked?.toJS() as { metadata: object }).metadata, {
      name: 'archived',
      namespace: NS,
      annotations: marks,
    });
    assert.equal((await render(`${others}---\n${text('archived')}`)).stdout, stdout);
  });

  it('writes what the API server and kubectl accept, and Argo CD and Flux understand', async () => {
    const { stdout } = await render(text('archived'), '--for', 'argocd');
    const applied = await cluster.create(parse(stdout) as object, '--dry-run=server', '-o', 'json');
    assert.equal(applied.code, 0, applied.stderr);
    assert.deepEqual((JSON.parse(applied.stdout) as { metadata: { annotations: object } }).metadata.annotations, {
      'argocd.argoproj.io/hook': 'Skip',
    });
  });

  it('gives the marks as a kustomize component and as a ConfigMap for Flux', async () => {
    const input = `${text('archived')}---\n${text('living')}`;
    const component = parse((await render(input, '-o', 'patch')).stdout) as { patches: { target: { name: string } }[] };
    assert.deepEqual(
      component.patches.map(({ target }) => target.name),
      ['archived'],
    );
    const { stdout } = await render(input, '-o', 'configmap', '--configmap-namespace', NS);
    assert.deepEqual((parse(stdout) as { data: object }).data, { tombstone_pipelinerun_srender_sarchived: 'Ignore' });
    assert.equal((await cluster.create(parse(stdout) as object, '--dry-run=server')).code, 0);
    const placeholders = (await render(input, '-o', 'placeholders')).stdout;
    assert.match(placeholders, /ssa: \$\{tombstone_pipelinerun_srender_sarchived:=Override\}/);
  });

  for (const [what, env] of Object.entries({
    MySQL: { INGESTER_MYSQL_PORT: '1' },
    'the API server': { INGESTER_KUBERNETES_KUBECONFIG: '/nowhere' },
  })) {
    it(`writes nothing and fails where ${what} is away, whatever the input`, async () => {
      for (const input of [text('archived'), text('never')]) {
        const { code, stdout } = await runIngester(bundle(), ['render'], { input, env });
        assert.deepEqual([code, stdout], [1, '']);
      }
    });
  }

  it('writes nothing and fails for an input that renders nothing', async () => {
    for (const input of ['', '\n---\n', '# nothing\n', 'Error: no such file\n']) {
      const { code, stdout, stderr } = await render(input);
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, /RENDER_(EMPTY|INPUT)/);
    }
  });

  it('takes a thousand manifests at once', async () => {
    const names = Array.from({ length: 1000 }, (_, index) => (index === 500 ? 'archived' : `many-${index}`));
    const { code, stdout, stderr } = await render(names.map(text).join('---\n'));
    assert.equal(code, 0, stderr);
    assert.equal(stdout.split('hook: Skip').length - 1, 1);
    assert.equal(parseAllDocuments(stdout).length, 1000);
  });
});
