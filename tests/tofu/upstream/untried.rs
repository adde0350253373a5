//! Reports that no scenario shows, and why.

pub(super) const REPORTS: &[(&str, &str)] = &[
    (
        "bridge#3557, bridge#3558, bridge#3444, pulumi-hcl#508, pulumi-hcl#509, bridge#941, bridge#423 closed, bridge#1692 closed",
        "their texts were not available",
    ),
    (
        "bridge#2658, bridge#2659, bridge#2779 closed, pulumi#7134",
        "the engine's display of a change; `tests/e2e/previews.txt` has such previews beside OpenTofu's",
    ),
    (
        "bridge#3428, bridge#3429, pulumi#19534, pulumi-aws#5860, pulumi-aws#5226, pulumi-aws#3020 closed, pulumi-azure-native#603 closed",
        "memory, and processes of many configurations: measurements (`docs/performance.md`), not a scenario",
    ),
    (
        "pulumi#13095, pulumi#15208, pulumi#15519, pulumi#3671, bridge#1454",
        "time of conversions and starts: measurements, not a scenario",
    ),
    (
        "bridge#2884, ptp#98 closed, ptp#24, bridge#2393, pulumi-dotnet#674, ptp#46 closed, pulumi#20377, pulumi#21290, pulumi#17933, pulumi#18189",
        "behaviour of the Pulumi CLI, converters and SDKs",
    ),
    (
        "bridge#1406, pulumi#5931, pulumi#16048 closed, pulumi#9878, pulumi#7702, pulumi#19307, pulumi#15636",
        "the engine's handling of imports, versions and timeouts",
    ),
    (
        "pulumi#21826, bridge#3247, pulumi#19181 closed",
        "SDKs of real providers; `tests/sdks` compiles the test provider's SDKs",
    ),
    (
        "bridge#2090",
        "the Go bridge uses a plugin cache after a query to a registry, and the scenarios have no registry",
    ),
    (
        "pulumi#14608, pulumi-converter-terraform#86",
        "a registry with tokens and TLS: `tests/contract/installing.rs` has one, without the Go bridge",
    ),
    (
        "pulumi-terraform-module#198 closed, pulumi-terraform-module#199, pulumi-terraform-module#212",
        "about another plugin, which runs the program of Terraform",
    ),
    ("cloudamqp/terraform-provider-cloudamqp#487 closed", "a wait of twenty minutes"),
    (
        "bridge#3432, bridge#2908, pulumi-aws#2442 closed, bridge#2439 closed, bridge#2444 closed",
        "defaults, nulls, sets and secrets of providers that are linked to the bridge, not started by it",
    ),
    (
        "bridge#904 closed, bridge#1295 closed",
        "a list that becomes a single value in another version of a provider; `single-items` in isthmus.toml has its own tests",
    ),
    (
        "bridge#2984",
        "the number of calls of state upgraders: OpenTofu calls them at each plan, so no number is right",
    ),
    ("bridge#97, pulumi#3165, pulumi#14298 closed", "wishes about logs and about generated passwords"),
];
