// A rule of this project for oxlint (.oxlintrc.json).
const bare = new Set(['Error', 'TypeError', 'RangeError']);

const codedErrors = {
  create: (context) => ({
    ThrowStatement: ({ argument }) => {
      if (argument?.type !== 'NewExpression' || !bare.has(argument.callee.name)) return;
      const message = 'Throw a CodedError (src/base/errors.ts) with a stable code and say what to do next.';
      context.report({ node: argument, message });
    },
  }),
};

export default { meta: { name: 'project' }, rules: { 'coded-errors': codedErrors } };
