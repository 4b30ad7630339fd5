#!/usr/bin/env python3
"""Resource groups by user and by project: user 1 has A, user 2 has A and B, project 3 has B and D, project 4 has E. Each
of the four sees, and may submit to, exactly these of the five pools."""
import sys
import unittest

from cluster import ApiError, Cluster

POOLS = "ABCDE"
# By principal: the user that acts, the project that they submit for, and the pools that are theirs.
PRINCIPALS = {"user 1": ("user1", "", "A"), "user 2": ("user2", "", "AB"), "project 3": ("user3", "project3", "BD"),
              "project 4": ("user4", "project4", "E")}


class PoolAccess(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(nodes=1, cores=8).__enter__()
        objects = [{"kind": "Project", "name": "project3", "users": ["user3"]},
                   {"kind": "Project", "name": "project4", "users": ["user4"]}]
        for pool in POOLS:
            users = [user for user, project, pools in PRINCIPALS.values() if pool in pools and not project]
            projects = [project for _, project, pools in PRINCIPALS.values() if pool in pools and project]
            objects.append({"kind": "Pool", "name": pool, "nodes": ["*"], "users": users or ["nobody_else"], "projects": projects})
        cls.cluster.api.call("POST", "/v1/objects", {"objects": objects})
        cls.api = {}
        for name, (user, _, _) in PRINCIPALS.items():
            token = cls.cluster.api.call("POST", f"/v1/users/{user}/token?create=1")["token"]
            cls.api[name] = cls.cluster.caller(token)

    @classmethod
    def tearDownClass(cls):
        for api in cls.api.values():
            api.close()
        cls.cluster.__exit__(None, None, None)

    def test_each_sees_and_uses_what_is_theirs(self):
        for name, (_, project, own) in PRINCIPALS.items():
            listed = {one["name"] for one in self.api[name].call("GET", "/v1/pools")["pools"]}
            declared = {one["name"] for one in self.api[name].call("GET", "/v1/objects?kind=pool")["objects"]}
            for pool in POOLS:
                with self.subTest(name, pool=pool):
                    self.assertEqual(pool in listed, pool in own)
                    self.assertEqual(pool in declared, pool in own)
                    status, _, _ = self.api[name].raw("GET", f"/v1/objects/pool/{pool}")
                    self.assertEqual(status, 200 if pool in own else 404)
                    job = {"command": ["true"], "pool": pool, "hold": True, **({"project": project} if project else {})}
                    if pool in own:
                        self.assertTrue(self.api[name].call("POST", "/v1/jobs", job)["id"])
                        continue
                    with self.assertRaises(ApiError) as refused:
                        self.api[name].call("POST", "/v1/jobs", job)
                    self.assertEqual(refused.exception.body["code"], "pool_not_yours")
                    for other in set(POOLS) - set(own) - {pool}:
                        self.assertNotIn(f" {other},", refused.exception.body["detail"])

    def test_an_administrator_sees_all(self):
        listed = {one["name"] for one in self.cluster.api.call("GET", "/v1/objects?kind=pool")["objects"]}
        self.assertLessEqual(set(POOLS), listed)


if __name__ == "__main__":
    sys.exit(unittest.main())
