// A component for each optional kind: the rights of the programs, and the rules of admission, reach it too.
import { stringify } from 'yaml';
import type { KindDefinition } from '../../src/api/kind.ts';
import { CodedError } from '../../src/base/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/base/json.ts';
import { generatedNotice, type Output } from './output.ts';

/** The documents of the bundle that list these kinds. */
type Documents = (kinds: readonly KindDefinition[]) => readonly object[];

export function optionalKindOutputs(kinds: readonly KindDefinition[], documents: Documents): readonly Output[] {
  const usual = kinds.filter((kind) => !kind.optional);
  const before = documents(usual);
  return kinds
    .filter((kind) => kind.optional)
    .map((kind) => ({
      path: `config/components/kinds/${kind.plural}/kustomization.yaml`,
      content:
        generatedNotice('#', 'src/kinds/catalogue.ts') + component(kind, patches(before, documents([...usual, kind]))),
    }));
}

function component({ kind }: KindDefinition, patched: readonly object[]): string {
  return (
    `# Ingests ${kind} as well: name it in ingester.kinds of the reconciler's file together with the other kinds.\n` +
    stringify({ apiVersion: 'kustomize.config.k8s.io/v1alpha1', kind: 'Component', patches: patched }, { lineWidth: 0 })
  );
}

function patches(before: readonly object[], after: readonly object[]): readonly object[] {
  return before.flatMap((document, index) => {
    const { apiVersion, kind, metadata } = document as { apiVersion: string; kind: string; metadata: { name: string } };
    const operations = added(document as JsonObject, after[index] as JsonObject, '');
    const [group, version] = apiVersion.split('/');
    const target = { group, version, kind, name: metadata.name };
    return operations.length === 0 ? [] : [{ target, patch: stringify(operations) }];
  });
}

/** JSON Patch. What a kind brings are entries of lists: an expression that changed would not go with that of another kind. */
function added(before: JsonValue | undefined, after: JsonValue | undefined, path: string): readonly object[] {
  if (Array.isArray(before) && Array.isArray(after)) {
    if (before.length === after.length)
      return after.flatMap((entry, index) => added(before[index], entry, `${path}/${index}`));
    const known = new Set(before.map((entry) => JSON.stringify(entry)));
    const values = after.filter((entry) => !known.has(JSON.stringify(entry)));
    return values.map((value) => ({ op: 'add', path: `${path}/-`, value }));
  }
  if (isJsonObject(before) && isJsonObject(after)) {
    return Object.keys(after).flatMap((key) => added(before[key], after[key], `${path}/${key}`));
  }
  if (before !== after) {
    const message = `${path} depends on the kinds that are ingested; make it the same for all: ${JSON.stringify(after)}`;
    throw new CodedError('OPTIONAL_KIND', message);
  }
  return [];
}
