# From `kubectl get replicasets --all-namespaces --output json` to events for POST /api/v1/events: a ReplicaSet with replicas that
# a Deployment created during the last day is a rollout. Service: the label app.kubernetes.io/name, else the Deployment's name.
# Version: the label app.kubernetes.io/version, else the tag of the first container's image.
[ .items[]
  | select((.status.replicas // 0) > 0)
  | select((.metadata.creationTimestamp | fromdate) > (now - 86400))
  | (.metadata.ownerReferences // [] | map(select(.kind == "Deployment")) | first) as $owner
  | select($owner != null)
  | (.spec.template.metadata.labels // {}) as $labels
  | {
      time: .metadata.creationTimestamp,
      kind: "deployment",
      service: ($labels["app.kubernetes.io/name"] // $owner.name),
      version: ($labels["app.kubernetes.io/version"]
        // (.spec.template.spec.containers[0].image | sub("^.*/"; "") | sub("^[^:@]*[:@]?"; ""))),
      text: "rollout of \(.metadata.namespace)/\($owner.name)"
    }
  | with_entries(select(.value != ""))
] | sort_by(.time) | .[-1000:]
