// Written by `cargo xtask docs` from the declarations of the questions; do not edit.

import type { QuestionForm } from "./settings.ts";

export const KERNEL_FORMS: [QuestionForm, ...QuestionForm[]] = [
  {
    "button": "Show contents",
    "fields": [],
    "name": "stats",
    "title": "What is in a trace?",
    "uploads": [
      {
        "label": "Kernel trace",
        "part": "file",
        "required": true
      }
    ]
  },
  {
    "button": "Find the critical paths",
    "fields": [
      {
        "hint": "its number, or its name",
        "label": "Thread",
        "name": "thread"
      },
      {
        "hint": "instead of a thread: auto, marker, …",
        "label": "Executions by",
        "name": "executions"
      },
      {
        "hint": "+1.5s from the first event",
        "label": "From",
        "name": "from",
        "rare": true
      },
      {
        "label": "To",
        "name": "to",
        "rare": true
      },
      {
        "label": "Execution number",
        "name": "execution",
        "rare": true
      }
    ],
    "name": "path",
    "title": "What was the time spent on?",
    "uploads": [
      {
        "label": "Kernel trace",
        "part": "file",
        "required": true
      }
    ]
  },
  {
    "button": "Diagnose",
    "fields": [
      {
        "hint": "marker:NAME, syscall:NAME, thread:NAME, …",
        "label": "Executions by",
        "name": "executions",
        "placeholder": "auto"
      },
      {
        "label": "Label of normal ones",
        "name": "normal-label",
        "rare": true
      },
      {
        "label": "Label of those in question",
        "name": "sample-label",
        "rare": true
      }
    ],
    "name": "diagnose",
    "title": "Why are some executions slow?",
    "uploads": [
      {
        "label": "Trace of normal executions",
        "part": "normal",
        "required": true
      },
      {
        "label": "Trace of the executions in question",
        "part": "sample",
        "required": true
      }
    ]
  }
];

export const SAMPLE_FORMS: [QuestionForm, ...QuestionForm[]] = [
  {
    "button": "Find changes",
    "fields": [
      {
        "hint": "60s, 5m, 500ms",
        "label": "Window length",
        "name": "window",
        "placeholder": "60s"
      },
      {
        "hint": "commas between several",
        "label": "Tiers",
        "many": true,
        "name": "tier",
        "placeholder": "all"
      },
      {
        "hint": "replicas, pods or hosts",
        "label": "Servers",
        "many": true,
        "name": "server",
        "placeholder": "all"
      },
      {
        "hint": "the tier that clients call",
        "label": "Front tier",
        "name": "front",
        "rare": true
      },
      {
        "hint": "4, app=4, db-1=1.5",
        "label": "Cores",
        "many": true,
        "name": "cores",
        "rare": true
      },
      {
        "choices": [
          {
            "label": "recognized",
            "value": ""
          },
          {
            "label": "0 to 1",
            "value": "fraction"
          },
          {
            "label": "0 to 100",
            "value": "percent"
          },
          {
            "label": "cores in use",
            "value": "cores"
          }
        ],
        "label": "Utilization values are",
        "name": "utilization",
        "rare": true
      },
      {
        "hint": "2026-01-12T09:10:00Z=v1.4",
        "label": "Deployments",
        "many": true,
        "name": "deployment",
        "rare": true
      }
    ],
    "introduction": "Whether the application, the workload, or something else on the host changed the CPU utilization, and since when: from counts of transactions and CPU utilization, stored or in a file.",
    "key": "h",
    "name": "changes",
    "title": "Changes",
    "uploads": [
      {
        "label": "Samples, traces or access logs",
        "part": "file"
      }
    ]
  },
  {
    "button": "Compute the signature",
    "command": "laggard signature diff old.json new.json",
    "fields": [
      {
        "hint": "60s, 5m, 500ms",
        "label": "Window length",
        "name": "window",
        "placeholder": "60s"
      },
      {
        "hint": "commas between several",
        "label": "Tiers",
        "many": true,
        "name": "tier",
        "placeholder": "all"
      },
      {
        "hint": "replicas, pods or hosts",
        "label": "Servers",
        "many": true,
        "name": "server",
        "placeholder": "all"
      },
      {
        "hint": "the tier that clients call",
        "label": "Front tier",
        "name": "front",
        "rare": true
      },
      {
        "hint": "4, app=4, db-1=1.5",
        "label": "Cores",
        "many": true,
        "name": "cores",
        "rare": true
      },
      {
        "choices": [
          {
            "label": "recognized",
            "value": ""
          },
          {
            "label": "0 to 1",
            "value": "fraction"
          },
          {
            "label": "0 to 100",
            "value": "percent"
          },
          {
            "label": "cores in use",
            "value": "cores"
          }
        ],
        "label": "Utilization values are",
        "name": "utilization",
        "rare": true
      },
      {
        "hint": "2026-01-12T09:10:00Z=v1.4",
        "label": "Deployments",
        "many": true,
        "name": "deployment",
        "rare": true
      },
      {
        "hint": "what it is of: a version, a commit",
        "label": "Label",
        "name": "label"
      }
    ],
    "introduction": "What each type of transaction takes at each server when nothing queues. Save it as JSON and compare it with a later one:",
    "key": "i",
    "name": "signature",
    "title": "Signature",
    "uploads": [
      {
        "label": "Samples, traces or access logs",
        "part": "file"
      }
    ]
  },
  {
    "button": "Compute the capacity",
    "fields": [
      {
        "hint": "largest mean response time",
        "label": "Latency target",
        "name": "latency-max",
        "placeholder": "500ms",
        "required": true
      },
      {
        "hint": "60s, 5m, 500ms",
        "label": "Window length",
        "name": "window",
        "placeholder": "60s"
      },
      {
        "hint": "commas between several",
        "label": "Tiers",
        "many": true,
        "name": "tier",
        "placeholder": "all"
      },
      {
        "hint": "replicas, pods or hosts",
        "label": "Servers",
        "many": true,
        "name": "server",
        "placeholder": "all"
      },
      {
        "hint": "the tier that clients call",
        "label": "Front tier",
        "name": "front",
        "rare": true
      },
      {
        "hint": "4, app=4, db-1=1.5",
        "label": "Cores",
        "many": true,
        "name": "cores",
        "rare": true
      },
      {
        "choices": [
          {
            "label": "recognized",
            "value": ""
          },
          {
            "label": "0 to 1",
            "value": "fraction"
          },
          {
            "label": "0 to 100",
            "value": "percent"
          },
          {
            "label": "cores in use",
            "value": "cores"
          }
        ],
        "label": "Utilization values are",
        "name": "utilization",
        "rare": true
      },
      {
        "hint": "2026-01-12T09:10:00Z=v1.4",
        "label": "Deployments",
        "many": true,
        "name": "deployment",
        "rare": true
      },
      {
        "hint": "of clients, where it is not measured",
        "label": "Think time",
        "name": "think",
        "rare": true
      },
      {
        "hint": "app.servers=4, cart.demand=-30%",
        "label": "What if",
        "many": true,
        "name": "what-if",
        "rare": true
      },
      {
        "hint": "times the current load",
        "label": "Load factor",
        "name": "load",
        "rare": true
      },
      {
        "hint": "cart=20%,home=80%",
        "label": "Mix",
        "name": "mix",
        "rare": true
      }
    ],
    "introduction": "How many clients the system can serve before its mean response time exceeds a target, and what saturates first.",
    "key": "p",
    "name": "capacity",
    "title": "Capacity",
    "uploads": [
      {
        "label": "Samples, traces or access logs",
        "part": "file"
      }
    ]
  }
];
