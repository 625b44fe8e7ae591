// The Helm chart: what kustomize renders, with values in some places. Nothing is looked up or made up at rendering, so
// the same values always give the same manifests.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { CodedError } from '../../src/base/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../src/base/json.ts';
import { schemaOf } from './chart-schema.ts';
import { type Place, places, RUNBOOKS, switches, texts } from './chart-values.ts';
import { imageParts } from './image.ts';
import type { Release } from './manifests.ts';
import { render } from './render.ts';

const root = join(import.meta.dirname, '../..');

interface Manifest extends JsonObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string } & JsonObject;
}

const HA = 'config/components/ha';
const CRDS = 'config/components/crds';

/** Writes the chart into the folder, whatever was there before. */
export async function writeChart({ kubectl, folder, image }: Release): Promise<void> {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const known = new Set((await manifestsOf(kubectl, [HA])).map(nameOf));
  // With the annotation of cert-manager, which all other programs ignore.
  const annotated = await manifestsOf(kubectl, [HA, 'config/components/cert-manager']);
  const bundle = annotated.filter((manifest) => known.has(nameOf(manifest)) && manifest.kind !== 'Namespace');
  const definitions = (await manifestsOf(kubectl, [CRDS])).filter(({ kind }) => kind === 'CustomResourceDefinition');
  const of = (kinds: RegExp): readonly Manifest[] => bundle.filter(({ kind }) => kinds.test(kind));
  const added = new Map<string, readonly Manifest[]>();
  for (const { name, components } of switches) {
    added.set(
      name,
      (await manifestsOf(kubectl, components)).filter((manifest) => !known.has(nameOf(manifest))),
    );
  }
  const all = [...bundle, ...[...added.values()].flat()];
  const values = defaultValues(all, imageValues(image ?? `michelangelo-ingester:${version}`));
  const files: Record<string, string> = {
    'Chart.yaml': stringify(chart(version)),
    'values.yaml': VALUES_NOTICE + stringify(values, { lineWidth: 0 }),
    'values.schema.json': `${JSON.stringify(schemaOf(values), undefined, 2)}\n`,
    'templates/_helpers.tpl': HELPERS,
    'templates/ingester-crd.yaml': conditional('.Values.crds.ingester', of(/^CustomResourceDefinition$/).map(kept)),
    'templates/crds.yaml': conditional(
      '.Values.crds.michelangelo',
      definitions.filter((manifest) => !known.has(nameOf(manifest))).map(kept),
    ),
    'templates/bundle.yaml': templateOf(of(/^(?!CustomResourceDefinition|PodDisruptionBudget)/)),
    'templates/disruption.yaml': conditional('.Values.disruptionBudgets.enabled', of(/^PodDisruptionBudget$/)),
  };
  for (const { name, section, condition = `.Values.${section}.enabled` } of switches) {
    files[`templates/${name}.yaml`] = switched(condition, added.get(name) ?? []);
  }
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'templates'), { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
}

async function manifestsOf(kubectl: string, components: readonly string[]): Promise<readonly Manifest[]> {
  return parsed(await render(kubectl, { resources: ['config/base'], components }));
}

function parsed(text: string): readonly Manifest[] {
  return parseAllDocuments(text).map((document) => document.toJS() as Manifest);
}

function nameOf({ kind, metadata: { name } }: Manifest): string {
  return `${kind} ${name}`;
}

function chart(version: string): object {
  return {
    apiVersion: 'v2',
    name: 'michelangelo-ingester',
    description: "Keeps Michelangelo's Kubernetes metadata in MySQL",
    type: 'application',
    version,
    appVersion: version,
    kubeVersion: '>=1.30.0-0',
  };
}

const VALUES_NOTICE = `# Generated from config by "npm run release". docs/install.md says what each part is for.\n`;
const HELPERS = `{{- define "ingester.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ required "set image.digest or image.tag" .Values.image.tag }}{{ end }}
{{- end }}
`;

/** Uninstalling a release must not take every object with it. */
function kept(manifest: Manifest): Manifest {
  const annotations = {
    ...(manifest.metadata['annotations'] as JsonObject | undefined),
    'helm.sh/resource-policy': 'keep',
  };
  return { ...manifest, metadata: { ...manifest.metadata, annotations } };
}

function conditional(condition: string, manifests: readonly Manifest[]): string {
  return `{{- if ${condition} }}\n${templateOf(manifests)}{{- end }}\n`;
}

/** Budgets have a switch of their own besides. */
function switched(condition: string, manifests: readonly Manifest[]): string {
  const [budgets = [], others = []] = [true, false].map((wanted) =>
    manifests.filter(({ kind }) => (kind === 'PodDisruptionBudget') === wanted),
  );
  return conditional(condition, others) + conditional(`and (${condition}) .Values.disruptionBudgets.enabled`, budgets);
}

function templateOf(manifests: readonly Manifest[]): string {
  return manifests.map((manifest) => `---\n${templated(manifest)}`).join('');
}

/** What stands for a value while the manifest is turned into text. */
const token = (index: number): string => `value-of-${index}-`;

function templated(manifest: Manifest): string {
  let edited: JsonValue = manifest;
  for (const [index, { of, path }] of places.entries()) {
    if (of.test(nameOf(manifest))) edited = withValue(edited, path, () => token(index));
  }
  // What stands in a text of ours is not for Helm.
  let text = stringify(edited, { lineWidth: 0 }).replaceAll('{{', '{{ "{{" }}');
  for (const { find, expression } of texts) text = text.replace(find, expression);
  return text.replace(/^( *)(.*?)value-of-(\d+)-/gm, (_line, indent: string, before: string, index: string) => {
    const place = places[Number(index)];
    if (place?.empty !== undefined) return optional(place, indent, before);
    const line = `${indent}${before}${place === undefined ? '' : expressionOf(place, indent.length + 2)}`;
    return place?.when === undefined ? line : `${indent}{{- if ${place.when} }}\n${line}\n${indent}{{- end }}`;
  });
}

/** The line, where there is a value. */
function optional({ value = '' }: Place, indent: string, before: string): string {
  const lines = [
    `{{- with .Values.${value} }}`,
    `${before}{{- toYaml . | nindent ${indent.length + 2} }}`,
    '{{- end }}',
  ];
  return lines.map((line) => `${indent}${line}`).join('\n');
}

function expressionOf({ value, fixed = '', form }: Place, indent: number): string {
  if (value === undefined) return fixed;
  if (form === undefined) return `{{ .Values.${value} }}`;
  return `${form === 'file' ? '| ' : ''}{{- toYaml .Values.${value} | nindent ${indent} }}`;
}

type Path = readonly (string | number)[];

/** A copy with another value at the path; maps on the way are made where they are missing. */
function withValue(at: JsonValue, path: Path, value: (old: JsonValue) => JsonValue): JsonValue {
  const [key, ...rest] = path;
  if (key === undefined) return value(at);
  if (Array.isArray(at)) {
    const isMeant = (item: JsonValue, index: number): boolean =>
      index === key || (isJsonObject(item) && item['name'] === key);
    return at.map((item, index) => (isMeant(item, index) ? withValue(item, rest, value) : item));
  }
  const map = at ?? {};
  if (isJsonObject(map)) return { ...map, [key]: withValue(map[key] ?? null, rest, value) };
  throw new CodedError('RELEASE_CHART', `nothing at ${path.join('.')}`);
}

function imageValues(image: string): JsonObject {
  const { newName, newTag = '', digest = '' } = imageParts(image);
  return { repository: newName, tag: newTag, digest };
}

/** What the manifests have in the places of values, and what switches are on. */
function defaultValues(manifests: readonly Manifest[], image: JsonObject): JsonObject {
  const values: Record<string, JsonObject> = {
    image,
    mysql: {
      secretName: 'ingester-mysql',
      migrateSecretName: 'ingester-mysql-migrate',
      verify: true,
      // Of the Secrets; empty, the authorities that Node trusts.
      caFile: '/etc/ingester/mysql/ca.crt',
    },
    crds: { ingester: true, michelangelo: false },
    disruptionBudgets: { enabled: true },
    prometheus: { runbooks: RUNBOOKS },
    // PEM of the authority of the query API's certificate; cert-manager knows it by itself.
    query: { caBundle: '' },
  };
  const put = (path: string, value: JsonValue): void => {
    const [section = '', key = ''] = path.split('.');
    values[section] = { ...values[section], [key]: value };
  };
  for (const { of, path, value, form, empty } of places) {
    if (value === undefined) continue;
    if (empty !== undefined) {
      put(value, empty as JsonValue);
      continue;
    }
    const manifest = manifests.find((each) => of.test(nameOf(each)));
    if (manifest === undefined) throw new CodedError('RELEASE_CHART', `nothing is called ${of.source}`);
    withValue(manifest, path, (old) => {
      put(value, form === 'file' && typeof old === 'string' ? (parse(old) as JsonValue) : old);
      return old;
    });
  }
  for (const { section, enabled } of switches) put(`${section}.enabled`, enabled);
  return values;
}
