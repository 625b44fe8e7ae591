// The queries that every installation has. Their ids and parameters are an interface: change nothing, add others.
import type { QueryTemplate } from './query-template-shape.ts';

const required = { type: 'string' } as const;
const optional = { type: 'string', optional: 'yes' } as const;
const equals = (field: string, parameter: string) => ({ field, operator: '=', value: { parameter } }) as const;
const created = [
  { field: 'metadata.creationTimestamp', operator: '>=', value: { parameter: 'since' } },
  { field: 'metadata.creationTimestamp', operator: '<', value: { parameter: 'until' } },
] as const;
const range = { since: { type: 'time', optional: 'yes' }, until: { type: 'time', optional: 'yes' } } as const;

/** What one field names, e.g. the runs of one pipeline, created in a range of time. */
function referring(kind: string, id: string, field: string, what: string): QueryTemplate {
  return {
    id,
    kind,
    description: `${what}, newest first`,
    parameters: { namespace: required, name: required, ...range },
    where: { all: [equals(`${field}.namespace`, 'namespace'), equals(`${field}.name`, 'name'), ...created] },
  };
}

/** What one value of a field has. */
function having(kind: string, id: string, field: string, what: string): QueryTemplate {
  return {
    id,
    kind,
    description: `${what}, newest first`,
    parameters: { value: required, ...range },
    where: { all: [equals(field, 'value'), ...created] },
  };
}

export const shippedQueryTemplates: readonly QueryTemplate[] = [
  referring('PipelineRun', 'of-pipeline', 'spec.pipeline', 'Runs of a pipeline'),
  referring('PipelineRun', 'of-revision', 'spec.revision', 'Runs of a revision'),
  having('PipelineRun', 'in-state', 'status.state', 'Runs in a state'),
  having('PipelineRun', 'of-actor', 'spec.actor.name', 'Runs that an actor started'),
  {
    id: 'ended-between',
    kind: 'PipelineRun',
    description: 'Runs that ended in a range of time, the last first',
    parameters: {
      from: { type: 'time' },
      to: { type: 'time' },
      states: { type: 'string', list: 'yes', optional: 'yes' },
    },
    where: {
      all: [
        { field: 'status.endTime', operator: '>=', value: { parameter: 'from' } },
        { field: 'status.endTime', operator: '<', value: { parameter: 'to' } },
        { field: 'status.state', operator: 'in', values: { parameter: 'states' } },
      ],
    },
    order: [{ field: 'status.endTime', direction: 'descending' }],
  },
  referring('Model', 'of-family', 'spec.modelFamily', 'Models of a family'),
  referring('Model', 'of-pipeline-run', 'spec.sourcePipelineRun', 'Models that a run made'),
  having('Model', 'of-owner', 'spec.owner.name', 'Models of an owner'),
  {
    id: 'by-algorithm',
    kind: 'Model',
    description: 'Models of an algorithm, of one owner where given, newest first',
    parameters: { algorithm: required, owner: optional },
    where: { all: [equals('spec.algorithm', 'algorithm'), equals('spec.owner.name', 'owner')] },
  },
  referring('Revision', 'of-resource', 'spec.baseResource', 'Revisions of a resource'),
  having('Revision', 'of-branch', 'spec.commit.branch', 'Revisions of a branch'),
  having('Pipeline', 'of-owner', 'spec.owner.name', 'Pipelines of an owner'),
  referring('TriggerRun', 'of-pipeline', 'spec.pipeline', 'Trigger runs of a pipeline'),
  having('TriggerRun', 'in-state', 'status.state', 'Trigger runs in a state'),
  referring('Deployment', 'of-revision', 'status.currentRevision', 'Deployments of a revision'),
  having('Deployment', 'in-state', 'status.state', 'Deployments in a state'),
  having('InferenceServer', 'in-state', 'status.state', 'Inference servers in a state'),
];
