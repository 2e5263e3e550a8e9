# Writes the folder from which Maven makes the jar: pom.xml, src/main/java and src/main/resources. Run by a target of
# CMakeLists.txt, which sets OUTPUT, POM, SOURCES, GENERATED and RESOURCES.
file(REMOVE_RECURSE ${OUTPUT}/src)
file(GLOB generated ${GENERATED}/*.java)
file(COPY ${SOURCES} ${generated} DESTINATION ${OUTPUT}/src/main/java/org/halftone)
file(COPY ${RESOURCES} DESTINATION ${OUTPUT}/src/main/resources/org/halftone)
file(COPY_FILE ${POM} ${OUTPUT}/pom.xml ONLY_IF_DIFFERENT)
