import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { valueAt } from '../../../src/base/json.ts';
import { annotate, RenderEmptyError, RenderInputError, readManifests } from '../../../src/gitops/render.ts';
import {
  placeholder,
  tombstoneAnnotations,
  tombstoneComponent,
  tombstoneConfigMap,
  tombstoneVariable,
} from '../../../src/gitops/tombstone.ts';

const both = ['argocd', 'flux'] as const;
const marks = { 'argocd.argoproj.io/hook': 'Skip', 'kustomize.toolkit.fluxcd.io/ssa': 'Ignore' };
const run =
  'apiVersion: michelangelo.api/v2\nkind: PipelineRun\nmetadata:\n  name: a-run\n  namespace: ns # why\nspec: {}\n';
const configMap = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\ndata:\n  text: |\n    ---\n    inside\n';

const markAll = (text: string): string => {
  const stream = readManifests(text, undefined);
  return annotate(stream, stream.manifests, () => tombstoneAnnotations(both));
};

describe('render', () => {
  it('marks an archived object for Argo CD and Flux, and keeps what its author wrote', () => {
    const text = markAll(run);
    const [document] = parseAllDocuments(text);
    assert.deepEqual(document?.toJS(), {
      apiVersion: 'michelangelo.api/v2',
      kind: 'PipelineRun',
      metadata: { name: 'a-run', namespace: 'ns', annotations: marks },
      spec: {},
    });
    assert.match(text, /# why/);
  });

  it('keeps every byte of the documents it does not mark', () => {
    const odd = `# head\n${configMap}---\n# only a comment\n--- \r\n${configMap.replaceAll('\n', '\r\n')}---\n`;
    const stream = readManifests(`${odd}${run}---\n${configMap}`, undefined);
    assert.equal(
      annotate(stream, [], () => ({})),
      `${odd}${run}---\n${configMap}`,
    );
    const marked = annotate(stream, stream.manifests, () => marks);
    assert.ok(marked.startsWith(odd.slice(0, -4)));
    assert.ok(marked.endsWith(`---\n${configMap}`));
  });

  it('gives the same text for the same input, and leaves a mark that is there already', () => {
    const once = markAll(`${run}---\n${configMap}`);
    assert.equal(markAll(`${run}---\n${configMap}`), once);
    assert.equal(markAll(once), once);
  });

  it('replaces a mark of another value and keeps other annotations', () => {
    const own = run.replace('  name:', '  annotations:\n    argocd.argoproj.io/hook: PreSync\n    keep: me\n  name:');
    const [document] = parseAllDocuments(markAll(own));
    assert.deepEqual(valueAt(document?.toJS(), ['metadata', 'annotations']), { keep: 'me', ...marks });
  });

  it('finds manifests in JSON and inside a List', () => {
    const item = { apiVersion: 'michelangelo.api/v2', kind: 'Model', metadata: { name: 'm', namespace: 'ns' } };
    const list = { apiVersion: 'v1', kind: 'List', items: [{ apiVersion: 'v1', kind: 'Secret' }, item] };
    const stream = readManifests(JSON.stringify(list), undefined);
    assert.deepEqual(stream.manifests, [
      { kind: 'Model', namespace: 'ns', name: 'm', document: 0, path: ['items', 1] },
    ]);
    const [document] = parseAllDocuments(annotate(stream, stream.manifests, () => marks));
    assert.equal(String(document?.getIn(['items', 1, 'metadata', 'annotations'])), String(document?.createNode(marks)));
    assert.equal(document?.hasIn(['items', 0, 'metadata']), false);
  });

  it('passes over kinds of others with the same name, and manifests without a fixed name', () => {
    const others = [
      'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, namespace: n}\n',
      'apiVersion: michelangelo.api/v2\nkind: Unknown\nmetadata: {name: d, namespace: n}\n',
      'apiVersion: michelangelo.api/v2\nkind: Model\nmetadata: {generateName: d, namespace: n}\n',
    ];
    assert.deepEqual(readManifests(others.join('---\n'), undefined).manifests, []);
  });

  it('takes the namespace from the option where a manifest has none, and refuses to guess', () => {
    const bare = run.replace('  namespace: ns # why\n', '');
    assert.equal(readManifests(bare, 'given').manifests[0]?.namespace, 'given');
    assert.throws(() => readManifests(bare, undefined), /PipelineRun a-run has no metadata\.namespace.*--namespace/);
  });

  for (const empty of ['', '\n\n', '---\n', '# only a comment\n---\n']) {
    it(`refuses an input without a manifest: ${JSON.stringify(empty)}`, () => {
      assert.throws(() => readManifests(empty, undefined), RenderEmptyError);
    });
  }

  for (const [what, wrong] of Object.entries({
    'an error message': 'Error: accumulating resources\n',
    'broken YAML': 'apiVersion: v1\nkind: [\n',
    'a list': '- apiVersion: v1\n',
    'no kind': 'apiVersion: v1\nmetadata: {}\n',
  })) {
    it(`refuses ${what} and says in which document`, () => {
      assert.throws(
        () => readManifests(`${run}---\n${wrong}`, undefined),
        (error: unknown) => {
          assert.ok(error instanceof RenderInputError);
          assert.match(error.message, /Document 2/);
          return true;
        },
      );
    });
  }
});

describe('tombstones', () => {
  const object = { kind: 'PipelineRun', namespace: 'a-b', name: 'c.d-e' };

  it('have a variable that Flux accepts and that no other object has', () => {
    assert.match(tombstoneVariable(object), /^[_a-zA-Z][_a-zA-Z0-9]*$/);
    const others = [
      { ...object, namespace: 'a', name: 'b-c.d-e' },
      { ...object, name: 'c-d.e' },
      { ...object, namespace: 'a.b' },
      { ...object, kind: 'Pipeline' },
    ];
    assert.equal(new Set([object, ...others].map(tombstoneVariable)).size, 5);
  });

  it('are asked for by a placeholder with a default, and answered by a ConfigMap that Flux watches', () => {
    assert.equal(placeholder(object), `\${${tombstoneVariable(object)}:=Override}`);
    assert.deepEqual(tombstoneConfigMap({ namespace: 'flux-system', name: 't' }, [object]), {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 't', namespace: 'flux-system', labels: { 'reconcile.fluxcd.io/watch': 'Enabled' } },
      data: { [tombstoneVariable(object)]: 'Ignore' },
    });
  });

  it('are a kustomize component with one patch for each object', () => {
    const component = tombstoneComponent([object], ['argocd']) as { patches: { patch: string; target: object }[] };
    const [patch] = component.patches;
    assert.ok(patch !== undefined);
    assert.deepEqual(patch.target, {
      group: 'michelangelo.api',
      version: 'v2',
      kind: 'PipelineRun',
      name: 'c.d-e',
      namespace: 'a-b',
    });
    assert.deepEqual(valueAt(JSON.parse(patch.patch), ['metadata', 'annotations']), {
      'argocd.argoproj.io/hook': 'Skip',
    });
  });
});
