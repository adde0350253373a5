// Runs one step of a program's life by the Automation API, and prints what came of it as JSON.
//
// The program runs in this process and talks to the command line's engine itself, so that no language host is needed.

import * as automation from "@pulumi/pulumi/automation";

/** Does what the first argument of the process says: `up`, or `preview`, in the directory that it runs in. */
export function run(program: automation.PulumiFn) {
    step(program).catch((error) => {
        console.error(error);
        process.exit(1);
    });
}

async function step(program: automation.PulumiFn) {
    const tell = { onOutput: (text: string) => process.stderr.write(text) };
    const stack = await automation.LocalWorkspace.selectStack(
        { stackName: "dev", projectName: "e2e", program },
        { workDir: "." },
    );
    switch (process.argv[2]) {
        case "up": {
            const { outputs, summary } = await stack.up(tell);
            console.log(JSON.stringify({ changes: summary.resourceChanges, outputs }));
            return;
        }
        case "preview": {
            const { changeSummary } = await stack.preview({ ...tell, diff: true });
            console.log(JSON.stringify({ changes: changeSummary }));
            return;
        }
        default:
            throw new Error(`there is no step ${process.argv[2]}`);
    }
}
