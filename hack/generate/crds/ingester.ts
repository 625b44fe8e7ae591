// The CustomResourceDefinition of the resource that describes an installation, from the table of its fields.
import { stringify } from 'yaml';
import { type LastingField, lastingFields } from '../../../src/api/ingester/lasting-fields.ts';
import { openApi } from '../../../src/api/ingester/schema.ts';
import { INGESTER_GROUP, INGESTER_KIND, INGESTER_PLURAL, INGESTER_VERSION } from '../../../src/api/ingester/spec.ts';
import { specSchema } from '../../../src/api/ingester/spec-schema.ts';
import { topPhases } from '../../../src/api/ingester/status.ts';
import { KEPT_TRANSITIONS } from '../../../src/lifecycle/plan/transitions.ts';
import { generatedNotice, type Output } from '../output.ts';

export const INGESTER_CRD = `${INGESTER_PLURAL}.${INGESTER_GROUP}`;

export function ingesterCrdOutput(): Output {
  const header = generatedNotice('#', 'src/api/ingester');
  const content = stringify(ingesterCrd(), { lineWidth: 0, aliasDuplicateObjects: false });
  return { path: `crds/ingester/${INGESTER_CRD}.yaml`, content: header + content };
}

const remembered = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

const condition = {
  type: 'object',
  required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
  properties: {
    type: { type: 'string' },
    status: { type: 'string', enum: ['True', 'False', 'Unknown'] },
    reason: { type: 'string' },
    message: { type: 'string' },
    lastTransitionTime: { type: 'string' },
    observedGeneration: { type: 'integer', format: 'int64' },
  },
};

const transition = {
  type: 'object',
  required: ['to', 'time', 'reason'],
  properties: {
    from: { type: 'string', enum: [...topPhases] },
    to: { type: 'string', enum: [...topPhases] },
    time: { type: 'string', maxLength: 64 },
    reason: { type: 'string', maxLength: 64 },
  },
};

const status = {
  type: 'object',
  description: 'What the lifecycle remembers and sees. Written by it alone.',
  properties: {
    observedGeneration: { type: 'integer', format: 'int64' },
    phase: { type: 'string', enum: [...topPhases] },
    ready: { type: 'string', description: 'Pods that are ready, of those that should be.' },
    version: { type: 'string', description: 'The version that runs.' },
    migratedVersion: { type: 'string', description: 'The version that the database was brought to.' },
    target: { ...remembered, description: 'What is being brought about.' },
    stable: { ...remembered, description: 'What ran well last.' },
    lifecycle: {
      ...remembered,
      description: 'The pipeline: its phase, the attempt, the tasks, the request for approval.',
      properties: { phase: { type: 'string' } },
    },
    components: { type: 'object', additionalProperties: remembered },
    conditions: {
      type: 'array',
      items: condition,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
    },
    transitions: {
      type: 'array',
      description: 'The newest changes of the phase, in their order.',
      maxItems: KEPT_TRANSITIONS,
      items: transition,
    },
  },
};

function ingesterCrd(): object {
  const column = (title: string, jsonPath: string, type = 'string'): object => ({ name: title, type, jsonPath });
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: INGESTER_CRD },
    spec: {
      group: INGESTER_GROUP,
      names: {
        kind: INGESTER_KIND,
        listKind: `${INGESTER_KIND}List`,
        plural: INGESTER_PLURAL,
        singular: INGESTER_KIND.toLowerCase(),
      },
      scope: 'Namespaced',
      versions: [
        {
          name: INGESTER_VERSION,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: [
            column('Version', '.status.version'),
            column('Phase', '.status.phase'),
            column('Lifecycle', '.status.lifecycle.phase'),
            column('Ready', '.status.ready'),
            column('Available', '.status.conditions[?(@.type=="Available")].status'),
            column('Age', '.metadata.creationTimestamp', 'date'),
          ],
          schema: {
            openAPIV3Schema: {
              type: 'object',
              required: ['spec'],
              properties: {
                apiVersion: { type: 'string' },
                kind: { type: 'string' },
                metadata: { type: 'object' },
                spec: openApi(specSchema),
                status,
              },
              'x-kubernetes-validations': lastingRules(),
            },
          },
        },
      ],
    },
  };
}

/** Rules of the whole object: whether it has run is in its status. */
function lastingRules(): readonly object[] {
  const ran = 'has(oldSelf.status) && has(oldSelf.status.version)';
  return lastingFields.map((field) => {
    const [before, after] = [inCel('oldSelf', field), inCel('self', field)];
    const same = [`${after} == ${before}`, ...(field.always === undefined ? [] : [`${after} == '${field.always}'`])];
    return {
      rule: `!(${ran}) || ${same.join(' || ')}`,
      message: field.message,
      fieldPath: `.spec.${field.path.join('.')}`,
      reason: 'FieldValueForbidden',
    };
  });
}

function inCel(object: string, { path: [group, name], initial }: LastingField): string {
  const at = `${object}.spec.${group}`;
  return `(has(${at}) && has(${at}.${name}) ? ${at}.${name} : '${initial}')`;
}
